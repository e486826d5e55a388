/** The feed of a run: what the channel, `GET …/events` and SSE tell, in the order of `seq` (docs/how-it-works.md). */

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

/** One event as a reader gets it. `seq` counts 1, 2, 3 … within a run. */
export type FeedEvent = {
  seq: number;
  type: FeedEventType;
  execution_id: string;
  at: string;
  data: Record<string, unknown>;
};

/**
 * An event on its way into the feed. `key` is the same whenever the same work is repeated, so that a
 * repeat writes nothing.
 */
export type FeedEntry = {
  key: string;
  type: FeedEventType;
  at: string;
  data: Record<string, unknown>;
};
