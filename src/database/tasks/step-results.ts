import { sql } from 'kysely';
import type { TaskType } from '../../domain/tasks/task-run.ts';
import { storable } from '../../domain/common/text.ts';
import { queryBuilderOf, type Database } from '../database.ts';

/** The result of a step. */
export type StepResultText = { step: string; agent: string; text: string };

/**
 * Stores the result of a step for later steps. The result of a later attempt replaces it. Characters that
 * PostgreSQL cannot store are removed.
 */
export async function storeStepResult(
  database: Database,
  executionId: string,
  { step, agent, text, attempt }: StepResultText & { attempt: number },
): Promise<void> {
  await sql`
    insert into step_results (execution_id, step, agent, attempt, text, written_at)
    select id, ${step}::text, ${agent}::text, ${attempt}::integer, ${JSON.stringify(storable(text))}::json, now()
    from task_runs where id = ${executionId}::uuid
    on conflict (execution_id, step) do update set
      agent = excluded.agent, attempt = excluded.attempt, text = excluded.text, written_at = excluded.written_at
    where step_results.attempt <= excluded.attempt
  `.execute(queryBuilderOf(database));
}

/**
 * Returns the results of the named steps of a run, in the order they were written. A rerun also has the results of the
 * earlier run, except for repeated steps.
 */
export async function listStepResults(
  database: Database,
  executionId: string,
  steps: readonly string[],
): Promise<StepResultText[]> {
  const { rows } = await sql<StepResultText>`
    with recursive taken_up (id, rerun_of, depth) as (
      select id, rerun_of, 0 from task_runs where id = ${executionId}::uuid
      union all
      select earlier.id, earlier.rerun_of, depth + 1 from taken_up
      join task_runs earlier on earlier.id = taken_up.rerun_of where depth < 100
    ), latest as (
      select distinct on (step) step, agent, text, written_at
      from taken_up join step_results on execution_id = id
      where step = any(${steps}::text[]) order by step, depth
    )
    select step, agent, text from latest order by written_at, step
  `.execute(queryBuilderOf(database));
  return rows;
}

/** The texts of a task for agents. */
export type TaskTexts = {
  title: string;
  description: string | null;
  task_type: TaskType;
  metadata: Record<string, unknown>;
};

/** Returns the texts of a run's task; null if it was erased. */
export async function findTaskTexts(database: Database, executionId: string): Promise<TaskTexts | null> {
  const { rows } = await sql<TaskTexts>`
    select title, description, task_type, metadata from task_runs where id = ${executionId}::uuid
  `.execute(queryBuilderOf(database));
  return rows[0] ?? null;
}

/** Returns whether agents may continue a run. `held`: paused in Temporal, which its workflow cannot signal to them. */
export async function mayContinue(database: Database, executionId: string): Promise<'yes' | 'held' | 'over'> {
  const { rows } = await sql<{ over: boolean; held: boolean }>`
    select completed_at is not null as over, engine_paused_at is not null as held
    from task_runs where id = ${executionId}::uuid
  `.execute(queryBuilderOf(database));
  const [run] = rows;
  if (!run || run.over) return 'over';
  return run.held ? 'held' : 'yes';
}
