import type { z } from 'zod';
import type { Caller } from '../http/caller.ts';
import type { Invoke } from '../http/invoke.ts';
import type { Route, RouteResponse } from '../http/route.ts';

export type Arguments = Readonly<Record<string, unknown>>;

/** The content of a result: a text for the model, and the same as data. */
export type ToolContent = { text: string; data: unknown };

/** What a tool needs to call its route. */
export type ToolCall = {
  route: Route;
  /** The arguments that are parts of the route's request. */
  args: Arguments;
  /** The validated other arguments. */
  extra: Arguments;
  /** The JSON text that contains the arguments. */
  text: string;
  caller: Caller;
  invoke: Invoke;
  signal: AbortSignal;
};

/** Hints for clients, which ask people before calls that change something (MCP, `ToolAnnotations`). */
export type ToolHints = {
  readOnlyHint: boolean;
  destructiveHint: boolean;
  idempotentHint: boolean;
  openWorldHint: boolean;
};

/** A tool: one route of the API, with a name and a description for models. */
export type Tool = {
  name: string;
  title: string;
  description: string;
  hints: ToolHints;
  /** `operationId` of the route that does the work. */
  operation: string;
  /** Arguments that the request of the route does not have. `idempotency_key` is its header. */
  extra?: z.ZodObject;
  /** Replaces the arguments of the body, for bodies that are not one object. */
  body?: z.ZodObject;
  /** Default values of arguments that the route requires. */
  defaults?: { names: readonly string[]; of(caller: Caller): Arguments };
  /** Replaces the schema of the route's response. */
  output?: z.ZodObject;
  /** Replaces the single call of the route. */
  run?(call: ToolCall): Promise<RouteResponse>;
  /** Returns the content of the result; default: the body of the response. */
  present?(answer: RouteResponse, call: ToolCall): Promise<ToolContent> | ToolContent;
};

export const READS: ToolHints = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
};
/** For tools that start something new with each call. */
export const ADDS: ToolHints = { ...READS, readOnlyHint: false, idempotentHint: false };
/** For tools whose repetition changes nothing. */
export const CHANGES: ToolHints = { ...READS, readOnlyHint: false };
