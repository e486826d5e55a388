/**
 * Event types of a run's feed. The channel, `GET …/events` and SSE send them in the order of `seq`
 * (docs/how-it-works.md).
 */

export const FEED_EVENT_TYPES = [
  'state.changed',
  'step.started',
  'step.progress',
  'step.completed',
  'step.failed',
  'agent.message',
  'escalation.requested',
  'callback.attempted',
  'run.ended',
] as const;
export type FeedEventType = (typeof FEED_EVENT_TYPES)[number];

/** One event as a reader receives it. `seq` counts 1, 2, 3 … within a run. */
export type FeedEvent = {
  seq: number;
  type: FeedEventType;
  execution_id: string;
  at: string;
  data: Record<string, unknown>;
};

/** An event that is not stored yet. Repeated work has the same `key`, so that a repeat writes nothing. */
export type FeedEntry = {
  key: string;
  type: FeedEventType;
  at: string;
  data: Record<string, unknown>;
};
