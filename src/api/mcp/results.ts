import type { CallToolResult } from '@modelcontextprotocol/server';
import { bodyText } from '../http/json-text.ts';
import { problemBody, type Problem } from '../http/problem.ts';
import type { ToolContent } from './tool.ts';

/** Returns a body as content: its exact JSON as text, and as data. */
export function contentOf(body: unknown): ToolContent {
  const text = bodyText(body);
  return { text, data: JSON.parse(text) };
}

/** Returns the result of a successful call. */
export function resultOf({ text, data }: ToolContent): CallToolResult {
  return { content: [{ type: 'text', text }], structuredContent: data };
}

/** Returns the result of a refused call. The model reads why, and can correct its arguments. */
export function refusalOf(problem: Problem, tool: string, requestId: string): CallToolResult {
  const { instance: _, ...body } = problemBody(problem, tool, requestId);
  return { isError: true, content: [{ type: 'text', text: JSON.stringify(body) }] };
}
