import type { Readable } from 'node:stream';
import { readSse } from '../clients/typescript/src/sse.ts';
import { unreachable } from './http.ts';
import { headersOf, messageIn, type Message } from './mcp-message.ts';
import { printable } from './output.ts';

/** Error codes of JSON-RPC: the message is not JSON; the server refused or did not answer. */
const PARSE_ERROR = -32_700;
const SERVER_ERROR = -32_000;
/** A request that only ends when the client or the server ends it. */
const LISTEN = 'subscriptions/listen';

export type Bridge = {
  /** The URL of the service. */
  baseUrl: string;
  /** Returns the headers with the credential. @throws CliError */
  credential(): Promise<Record<string, string>>;
  input: Readable;
  /** Writes one message. */
  write(line: string): void;
  /** Reports a failure that no response can contain. */
  note(text: string): void;
};

/** A request without its response. */
type Open = { message: Message; cancel: AbortController; work: Promise<void> };

/**
 * Passes each line of the input to the service's endpoint of the Model Context Protocol, and writes its messages. They are
 * not changed. Ends after the end of the input, once all responses have been written.
 */
export async function bridge({ baseUrl, credential, input, write, note }: Bridge): Promise<void> {
  const open = new Set<Open>();
  let agreed: string | null = null;

  async function pass(line: string, message: Message, signal: AbortSignal): Promise<void> {
    let answered = false;
    const take = (text: string) => {
      const { id, method, agreedVersion } = messageIn(text) ?? {};
      if (message.method === 'initialize') agreed = agreedVersion ?? agreed;
      if (id === message.id && method === null) answered = true;
      // A line break separates messages, so none may be inside.
      write(text.replaceAll(/[\r\n]+/g, ' '));
    };
    try {
      const response = await send(line, message, signal);
      await receive(response, message, take);
      if (!answered && message.id !== null && !signal.aborted) throw new Error('The connection was lost');
    } catch (error) {
      if (signal.aborted || answered) return;
      const text = error instanceof Error ? printable(error.message) : String(error);
      if (message.id === null) note(text);
      else write(failure(message.id, SERVER_ERROR, text));
    }
  }

  async function send(line: string, message: Message, signal: AbortSignal): Promise<Response> {
    const headers = {
      ...(await credential()),
      ...headersOf(message, agreed),
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
    };
    const request = { method: 'POST', redirect: 'manual', headers, body: line, signal } as const;
    try {
      return await fetch(`${baseUrl}/mcp`, request);
    } catch (error) {
      throw unreachable(baseUrl, error);
    }
  }

  for await (const line of linesOf(input)) {
    if (line.trim() === '') continue;
    const message = messageIn(line);
    if (message === null) {
      write(failure(null, PARSE_ERROR, 'The message is not valid JSON.'));
      continue;
    }
    if (message.method === 'notifications/cancelled') {
      // Over HTTP, a request is cancelled by closing its connection.
      const { requestId } = message.params;
      for (const request of open) if (request.message.id === requestId) request.cancel.abort();
      continue;
    }
    const cancel = new AbortController();
    const request = { message, cancel, work: pass(line, message, cancel.signal) };
    open.add(request);
    void request.work.finally(() => open.delete(request));
    // The version that the response contains is a header of all later messages.
    if (message.method === 'initialize') await request.work;
  }
  for (const { message, cancel } of open) if (message.method === LISTEN) cancel.abort();
  await Promise.all([...open].map(({ work }) => work));
}

/** Yields the lines of a stream. `readline` also ends lines at U+2028 and U+2029, which JSON may contain. */
async function* linesOf(input: Readable): AsyncGenerator<string> {
  let rest = '';
  for await (const chunk of input.setEncoding('utf8') as AsyncIterable<string>) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
  yield rest;
}

async function receive(response: Response, message: Message, take: (text: string) => void): Promise<void> {
  const type = response.headers.get('content-type') ?? '';
  if (type.startsWith('text/event-stream') && response.body) {
    for await (const text of readSse(response.body, () => {})) if (text !== '') take(text);
    return;
  }
  const text = await response.text();
  if (response.status === 202 && text === '') return;
  const given = messageIn(text);
  // A refusal has no id if the server has not read the message.
  if (given !== null && given.id === message.id) return take(text);
  throw new Error(detailIn(text) ?? `The server returned ${response.status}`);
}

function detailIn(text: string): string | null {
  try {
    const { error } = JSON.parse(text) as { error?: { message?: unknown } };
    return typeof error?.message === 'string' ? error.message : null;
  } catch {
    return null;
  }
}

function failure(id: string | number | null, code: number, message: string): string {
  return JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } });
}
