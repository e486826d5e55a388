import { sql } from 'kysely';
import { MAX_LISTED_RERUNS } from '../../domain/common/limits.ts';
import type { StoredPlan } from '../../domain/tasks/rerun.ts';
import type { TaskState } from '../../domain/tasks/task-states.ts';
import { queryBuilderOf, type Database, type QueryBuilder } from '../database.ts';
import { insertionOf, type NewRun } from './task-runs.ts';

/** A rerun of a run. */
export type Rerun = { execution_id: string; state: TaskState; rerun_from: string | null; created_at: Date };

/** Returns the stored plan of a run; null if there is none. */
export async function findPlan(database: Database, executionId: string): Promise<StoredPlan | null> {
  const { rows } = await sql<{ plan: StoredPlan | null }>`
    select plan from task_runs where id = ${executionId}::uuid
  `.execute(queryBuilderOf(database));
  return rows[0]?.plan ?? null;
}

/** Returns the newest {@link MAX_LISTED_RERUNS} reruns of a run, the oldest first. */
export async function listReruns(database: Database, executionId: string): Promise<Rerun[]> {
  const { rows } = await sql<Omit<Rerun, 'created_at'> & { created_at: string }>`
    select id as execution_id, state, rerun_from, created_at from task_runs
    where rerun_of = ${executionId}::uuid order by id desc limit ${MAX_LISTED_RERUNS}
  `.execute(queryBuilderOf(database));
  return rows.toReversed().map((row) => ({ ...row, created_at: new Date(row.created_at) }));
}

/** A step that a rerun keeps, with its ids in both runs. */
export type KeptStep = { name: string; earlierId: string; id: string };

/** The kept steps of a rerun, whose outputs it gets from the run `from`. */
export type KeptOutputs = { from: string; steps: readonly KeptStep[] };

/**
 * Stores a rerun together with the outputs of its kept steps, documents and results for later steps: the process
 * that starts the run finds all of it.
 */
export async function insertRerun(database: Database, run: NewRun, kept: KeptOutputs): Promise<void> {
  await database.em.fork().transactional(async (em) => {
    const db = em.getKysely();
    await insertionOf(db, run).execute();
    await copyStepOutputs(db, run.id, kept);
  });
}

async function copyStepOutputs(db: QueryBuilder, to: string, { from, steps }: KeptOutputs): Promise<void> {
  if (steps.length === 0) return;
  await sql`
    with documents as (
      insert into artifacts (execution_id, name, step_id, agent, media_type, content, size, sha256, created_at)
      select ${to}::uuid, name, taken.id, agent, media_type, content, size, sha256, created_at
      from artifacts
      join unnest(${steps.map(({ earlierId }) => earlierId)}::uuid[], ${steps.map(({ id }) => id)}::uuid[])
        as taken (earlier_id, id) on step_id = earlier_id
      where execution_id = ${from}::uuid
      on conflict do nothing
    )
    insert into step_results (execution_id, step, agent, attempt, text, written_at)
    select ${to}::uuid, step, agent, 0, text, written_at from step_results
    where execution_id = ${from}::uuid and step = any(${steps.map(({ name }) => name)}::text[])
    on conflict do nothing
  `.execute(db);
}
