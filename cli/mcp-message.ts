/** A message of the Model Context Protocol, as far as the transport over HTTP depends on it. */
export type Message = {
  id: string | number | null;
  method: string | null;
  params: Readonly<Record<string, unknown>>;
  /** The version in the result of `initialize`. */
  agreedVersion: string | null;
};

const VERSION_FIELD = 'io.modelcontextprotocol/protocolVersion';
/** The parameter that `Mcp-Name` repeats, by method (MCP 2026-07-28, streamable HTTP). */
const NAMES: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
  'tasks/get': 'taskId',
  'tasks/update': 'taskId',
  'tasks/cancel': 'taskId',
};
const ENCODED = '=?base64?';
const PLAIN = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;

/** Returns the message in a line; null if the line is not JSON. */
export function messageIn(line: string): Message | null {
  try {
    const value: unknown = JSON.parse(line);
    const { id, method, params, result } = fieldsOf(value);
    const { protocolVersion } = fieldsOf(result);
    return {
      id: typeof id === 'string' || typeof id === 'number' ? id : null,
      method: typeof method === 'string' ? method : null,
      params: fieldsOf(params),
      agreedVersion: typeof protocolVersion === 'string' ? protocolVersion : null,
    };
  } catch {
    return null;
  }
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return value !== null && typeof value === 'object' ? (value as Record<string, unknown>) : {};
}

/**
 * Returns the headers that repeat parts of a message. `agreed`: the version from `initialize`, for messages that contain
 * none.
 */
export function headersOf({ method, params }: Message, agreed: string | null): Record<string, string> {
  const version = fieldsOf(params['_meta'])[VERSION_FIELD];
  if (typeof version !== 'string') {
    return agreed === null || method === 'initialize' ? {} : { 'mcp-protocol-version': agreed };
  }
  const headers = { 'mcp-protocol-version': version, ...(method === null ? {} : { 'mcp-method': method }) };
  const name = method !== null && Object.hasOwn(NAMES, method) ? params[NAMES[method] ?? ''] : undefined;
  return typeof name === 'string' ? { ...headers, 'mcp-name': inHeader(name) } : headers;
}

function inHeader(text: string): string {
  if (PLAIN.test(text) && !text.startsWith(ENCODED)) return text;
  return `${ENCODED}${Buffer.from(text, 'utf8').toString('base64')}?=`;
}
