export { createBaton, type Baton, type BatonOptions } from './baton.ts';
export type { WebSocketConstructor, WebSocketLike } from './channel.ts';
export type { TokenSource } from './credentials.ts';
export { EventsLeft, type Events } from './events.ts';
export type { FollowOptions } from './follow.ts';
export type { TransportName } from './transports.ts';
export {
  CALLBACK_STATES,
  EVENT_KINDS,
  PROBLEM_CODES,
  TASK_STATES,
  TERMINAL_STATES,
} from './vocabulary.ts';
export type { Listing, Page } from './pages.ts';
export { BatonProblem, BatonTimeout, BatonUnreachable } from './problem.ts';
export type { Tasks } from './tasks.ts';
export type * from './types.ts';
export * from './verify/index.ts';
export { isEnded, isSettled, type Until, type WaitOptions } from './wait-for.ts';
export type { Deliveries, Webhooks } from './webhooks.ts';
