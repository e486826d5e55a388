import { sql } from 'kysely';
import { statements, type Database } from './connect.ts';

/** A sealed value with what it belongs to. */
export type SealedValue = { of: 'webhook' | 'run'; id: string; sealed: string };

/**
 * One sealed value of each key that secrets of webhooks are sealed with, and that of the newest run: enough to know
 * whether the configured keys are the right ones.
 */
export async function sealedSamples(database: Database): Promise<SealedValue[]> {
  const { rows } = await sql<SealedValue>`
    (select distinct on (split_part(sealed, '.', 2)) 'webhook' as "of", id, sealed
     from (select id, secret as sealed from webhooks where secret is not null
           union all
           select id, previous_secret from webhooks where previous_secret is not null) as webhook
     order by split_part(sealed, '.', 2), id desc)
    union all
    (select 'run', id, callback_secret from task_runs order by id desc limit 1)
  `.execute(statements(database));
  return rows;
}
