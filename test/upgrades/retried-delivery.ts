import assert from 'node:assert/strict';
import { withClient } from '../../dev/services/postgres.ts';
import { eventually } from '../support/eventually.ts';
import type { Receiver } from '../support/receiver.ts';
import type { Fleet, Process } from './fleet.ts';

/** Publishes an event whose only delivery fails, and waits until it waits for its retry. */
export async function publishToRetry(fleet: Fleet, api: Process, receiver: Receiver): Promise<void> {
  receiver.answering(500);
  await fleet.publish(api, 'retried');
  await receiver.receives(1, 60_000);
  const isWaiting = async () => (await delivery(fleet))?.status === 'retrying';
  await eventually('it waits for its retry', isWaiting, 60_000);
}

/** Waits until the delivery has succeeded. On a slow machine its first retry has failed before, and the next is later. */
export async function untilRetryIsMade(fleet: Fleet): Promise<void> {
  const untilDueMs = ((await delivery(fleet))?.next_attempt_at?.getTime() ?? 0) - Date.now();
  const isMade = async () => (await delivery(fleet))?.status === 'succeeded';
  await eventually('the retry is made', isMade, Math.max(0, untilDueMs) + 120_000);
}

/** Returns the only delivery; undefined before it is recorded. */
async function delivery(fleet: Fleet) {
  const { rows } = await withClient(fleet.environment['DATABASE_URL'] ?? '', (client) =>
    client.query<{ status: string; next_attempt_at: Date | null }>(
      'select status, next_attempt_at from deliveries',
    ),
  );
  assert.ok(rows.length < 2);
  return rows[0];
}
