import assert from 'node:assert/strict';
import type { FeedEvent } from '../../src/domain/tasks/feed-events.ts';
import type { Done } from './cli-process.ts';

/** Returns the events that `task watch --json` printed. */
export const eventsIn = ({ stdout }: Done): FeedEvent[] =>
  stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));

/** Asserts that events are in order, without gap or repeat, to the last. */
export function assertWhole(events: readonly FeedEvent[], last = 'run.ended'): void {
  assert.deepEqual(
    events.map(({ seq }) => seq),
    events.map((_, index) => index + 1),
  );
  assert.equal(events.at(-1)?.type, last);
}
