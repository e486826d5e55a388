import { sql } from 'kysely';
import type { AgentCall, CallKey, ToolAnswer } from '../../domain/agents/agent-work.ts';
import type { Usage } from '../../domain/tasks/run-schemas.ts';
import { queryBuilderOf, type Database } from '../database.ts';
import { runPrepared } from '../common/prepared.ts';

/** A call to be recorded. `startedAt` is by the worker's clock. */
export type NewCall = Pick<
  AgentCall,
  'kind' | 'name' | 'input' | 'output' | 'truncated' | 'usage' | 'failure' | 'duration_ms'
> & { place: CallKey; startedAt: Date };

/**
 * Records a call that has ended. It replaces an earlier failure of the same call; an answered call stays unchanged.
 * Writes nothing for a run that has been erased.
 */
export async function recordCall(database: Database, call: NewCall): Promise<void> {
  const { place, usage } = call;
  const statement = sql`
    insert into agent_calls (
      execution_id, step_id, attempt, number, kind, name, input, output, truncated,
      input_tokens, output_tokens, cost_usd, failure, started_at, duration_ms
    )
    select
      id, ${place.stepId}::uuid, ${place.attempt}::integer, ${place.number}::integer, ${call.kind}::text,
      ${call.name}::text, ${jsonOf(call.input)}::json, ${jsonOf(call.output)}::json, ${call.truncated}::boolean,
      ${usage?.input_tokens ?? null}::integer, ${usage?.output_tokens ?? null}::integer,
      ${usage?.cost_usd ?? null}::double precision, ${call.failure}::text,
      ${call.startedAt.toISOString()}::timestamptz, ${Math.round(call.duration_ms)}::integer
    from task_runs where id = ${place.executionId}::uuid
    on conflict (execution_id, step_id, attempt, number) do update set
      name = excluded.name, input = excluded.input, output = excluded.output, truncated = excluded.truncated,
      input_tokens = excluded.input_tokens, output_tokens = excluded.output_tokens, cost_usd = excluded.cost_usd,
      failure = excluded.failure, started_at = excluded.started_at, duration_ms = excluded.duration_ms
    where agent_calls.failure is not null
  `.compile(queryBuilderOf(database));
  await runPrepared(database, statement);
}

/** Returns the recorded output of an answered call; null if there is none, or it was cut. */
export async function findCallOutput(database: Database, place: CallKey): Promise<unknown> {
  const { rows } = await sql<{ output: unknown }>`
    select output from agent_calls
    where execution_id = ${place.executionId}::uuid and step_id = ${place.stepId}::uuid
      and attempt = ${place.attempt}::integer and number = ${place.number}::integer
      and failure is null and not truncated
  `.execute(queryBuilderOf(database));
  return rows[0]?.output ?? null;
}

/** Returns the recorded answer of a tool, or null. */
export async function findToolAnswer(database: Database, place: CallKey): Promise<ToolAnswer | null> {
  const { rows } = await sql<{ output: ToolAnswer }>`
    select output from agent_calls
    where execution_id = ${place.executionId}::uuid and step_id = ${place.stepId}::uuid
      and attempt = ${place.attempt}::integer and number = ${place.number}::integer
      and kind = 'tool' and failure is null
  `.execute(queryBuilderOf(database));
  return rows[0]?.output ?? null;
}

/** Returns the total usage of the answered model calls of a run, planning included; null if there are none. */
export async function readRunUsage(database: Database, executionId: string): Promise<Usage | null> {
  const statement = sql<{ calls: number; input: number; output: number; cost: number | null }>`
    select count(*)::integer as calls, coalesce(sum(input_tokens), 0)::double precision as input,
      coalesce(sum(output_tokens), 0)::double precision as output, sum(cost_usd) as cost
    from agent_calls where execution_id = ${executionId}::uuid and kind = 'model' and failure is null
  `.compile(queryBuilderOf(database));
  const { rows } = await runPrepared(database, statement);
  const [sum] = rows;
  if (!sum || sum.calls === 0) return null;
  return {
    input_tokens: sum.input,
    output_tokens: sum.output,
    model_calls: sum.calls,
    ...(sum.cost === null ? {} : { cost_usd: sum.cost }),
  };
}

function jsonOf(value: unknown): string | null {
  return value === undefined || value === null ? null : JSON.stringify(value);
}
