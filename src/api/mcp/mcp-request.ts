import type { Logger } from 'pino';
import type { Caller } from '../http/caller.ts';
import type { Invoke } from '../http/invoke.ts';
import type { Route } from '../http/route.ts';
import type { HandleTraced } from './message-traces.ts';
import type { ObjectSchema } from './schemas.ts';
import type { Tool } from './tool.ts';

/** A tool with its route and its schemas. */
export type ServedTool = Tool & {
  route: Route;
  inputSchema: ObjectSchema;
  outputSchema: ObjectSchema | undefined;
};

/** One request of a client, as the tools need it. */
export type McpRequest = {
  caller: Caller;
  invoke: Invoke;
  signal: AbortSignal;
  traced: HandleTraced;
  /** Takes the cost of `count` calls from the limit of the credential. @throws Problem `rate_limited` */
  charge(count: number): void;
  requestId: string;
  log: Logger;
  /** Returns the JSON text of the arguments of the message with this id; null if it cannot be told. */
  argumentsText(id: string | number): string | null;
};
