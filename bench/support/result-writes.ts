import { randomUUID } from 'node:crypto';
import type { Client } from 'pg';
import type { Database } from '../../src/database/database.ts';
import { recordResults } from '../../src/database/webhooks/delivery-results.ts';
import { successOf } from '../../test/support/results.ts';
import { summarize, measureMs } from './measure.ts';

const BATCH_SIZE = 60;
const REPETITIONS = 15;
const FIELDS = {
  url: 'http://127.0.0.1/bench',
  request_headers: { 'content-type': 'application/json' },
};

/**
 * Returns the milliseconds (p50) of writing 60 results at once, as a delivery worker does. `database` should be the same
 * for all measurements, since its connections keep their query plans.
 */
export async function measureResultWrites(
  database: Database,
  client: Client,
  { workspaceId, webhookId }: { workspaceId: string; webhookId: string },
): Promise<number> {
  const samples: number[] = [];
  for (let time = 0; time < REPETITIONS; time += 1) {
    const ids = Array.from({ length: BATCH_SIZE }, () => randomUUID());
    await client.query(
      `insert into deliveries (id, workspace_id, webhook_id, event_seq, event_id, event, status, created_at, updated_at)
       select id, $2, $3, 0, 'bench', 'issue.created', 'pending', now(), now() from unnest($1::uuid[]) id`,
      [ids, workspaceId, webhookId],
    );
    const results = ids.map((id) =>
      successOf({ id, workspace_id: workspaceId, webhook_id: webhookId }, FIELDS),
    );
    samples.push(await measureMs(() => recordResults(database, results)));
    await client.query('delete from deliveries where id = any($1::uuid[])', [ids]);
  }
  return summarize(samples).p50;
}
