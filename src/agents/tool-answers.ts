import type { CallToolResult } from '@ai-sdk/mcp';
import type { ToolAnswer } from '../domain/agents/agent-work.ts';
import { TOOL_ANSWER_BYTES } from '../domain/common/limits.ts';
import { storable } from '../domain/common/text.ts';
import { cutText } from './cut.ts';

/** Returns a tool's result as text for a model: texts unchanged, and a short description of everything else. */
export function textOfResult(result: CallToolResult): string {
  const given = result as { content?: unknown; structuredContent?: unknown; toolResult?: unknown };
  const parts = Array.isArray(given.content)
    ? given.content.map(textOfPart).filter((text) => text !== '')
    : [];
  if (parts.length > 0) return parts.join('\n');
  const structured = given.structuredContent ?? given.toolResult;
  return structured === undefined ? '' : JSON.stringify(structured);
}

/** Returns an answer for a model: cut to a limit, and storable. */
export function answerOf(text: string, isError: boolean): ToolAnswer {
  const cut = cutText(storable(text), TOOL_ANSWER_BYTES);
  return { text: cut.text, is_error: isError, truncated: cut.truncated };
}

function textOfPart(part: unknown): string {
  if (part === null || typeof part !== 'object') return '';
  const { type, text, data, mimeType, resource, uri, name } = part as Record<string, unknown>;
  switch (type) {
    case 'text':
      return String(text);
    case 'image':
    case 'audio':
      return `[${type} ${String(mimeType)}, ${sizeOf(data)}: omitted]`;
    case 'resource':
      return textOfResource(resource);
    case 'resource_link':
      return `[resource ${typeof name === 'string' ? `${name} ` : ''}${String(uri)}]`;
    default:
      return `[${String(type)}: omitted]`;
  }
}

function textOfResource(resource: unknown): string {
  if (resource === null || typeof resource !== 'object') return '';
  const { uri, text, blob, mimeType } = resource as Record<string, unknown>;
  if (typeof text === 'string') return `[resource ${String(uri)}]\n${text}`;
  return `[resource ${String(uri)} ${String(mimeType)}, ${sizeOf(blob)}: omitted]`;
}

/** Returns the size of base64 data, as text. */
function sizeOf(data: unknown): string {
  return `${typeof data === 'string' ? Math.floor((data.length * 3) / 4) : 0} bytes`;
}
