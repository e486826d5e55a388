import { sql } from 'kysely';
import type { Database } from '../database.ts';

/** Waits for an advisory lock of this installation, and holds it until the transaction ends. */
export async function lockByName(em: Database['em'], name: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtext(${`baton ${name}`}))`.execute(em.getKysely());
}
