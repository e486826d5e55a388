import { randomUUIDv7 } from 'node:crypto';
import type { Database } from '../../src/database/database.ts';
import { listEventsAfter, recordChange } from '../../src/database/tasks/feed.ts';
import { insertRun } from '../../src/database/tasks/task-runs.ts';
import type { FeedEvent } from '../../src/domain/tasks/feed-events.ts';
import { newRunRow } from '../support/run-row.ts';
import type { Installation } from '../../src/runtime/installation.ts';

/**
 * Stores a run without a workflow, so that it has only the events that a test writes. Its creation time is an hour
 * ahead, because the reconciler ends or starts older runs without a workflow.
 */
export async function quietRun(database: Database, installation: Installation): Promise<string> {
  const run = newRunRow(installation, { created_at: new Date(Date.now() + 3_600_000) });
  await insertRun(database, run);
  return run.id;
}

/** Writes `count` events of about `bytes` bytes each, `together` in one transaction. */
export async function writeEvents(
  database: Database,
  executionId: string,
  { count, bytes, together = 10 }: { count: number; bytes: number; together?: number },
): Promise<void> {
  const at = new Date().toISOString();
  for (let written = 0; written < count; written += together) {
    const entries = Array.from({ length: Math.min(together, count - written) }, () => ({
      key: randomUUIDv7(),
      type: 'agent.message' as const,
      at,
      data: { text: 'x'.repeat(bytes) },
    }));
    await recordChange(database, { executionId, view: null, entries });
  }
}

/** Returns all stored events of a run. */
export function feedOf(database: Database, executionId: string): Promise<FeedEvent[]> {
  return listEventsAfter(database, executionId, 0, 1_000_000);
}
