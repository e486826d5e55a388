import { sql } from 'kysely';
import type { StoredPlan } from '../domain/rerun.ts';
import type { TaskState } from '../domain/task-states.ts';
import { statements, type Database } from './connect.ts';

/** A run that takes up another one. */
export type Rerun = { execution_id: string; state: TaskState; rerun_from: string | null; created_at: Date };

/** The plan that lies ready for a run, or that was made for it; null where there is none. */
export async function storedPlan(database: Database, executionId: string): Promise<StoredPlan | null> {
  const { rows } = await sql<{ plan: StoredPlan | null }>`
    select plan from task_runs where id = ${executionId}::uuid
  `.execute(statements(database));
  return rows[0]?.plan ?? null;
}

/** The runs that take up this one, the oldest first. */
export async function rerunsOf(database: Database, executionId: string): Promise<Rerun[]> {
  const { rows } = await sql<Omit<Rerun, 'created_at'> & { created_at: string }>`
    select id as execution_id, state, rerun_from, created_at from task_runs
    where rerun_of = ${executionId}::uuid order by id
  `.execute(statements(database));
  return rows.map((row) => ({ ...row, created_at: new Date(row.created_at) }));
}
