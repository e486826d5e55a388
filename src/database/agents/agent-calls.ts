import { sql, type RawBuilder } from 'kysely';
import type { AgentCall, CallKey } from '../../domain/agents/agent-work.ts';
import type { Usage } from '../../domain/tasks/run-schemas.ts';
import { storable, storableJson } from '../../domain/common/text.ts';
import { queryBuilderOf, type Database } from '../database.ts';
import { runPrepared } from '../common/prepared.ts';

/** The `failure` of a call that has begun. Lists omit the call: it has not ended, or its worker died. */
export const IN_PROGRESS = 'in progress';

/** A call to be recorded. `startedAt` is by the worker's clock. */
export type NewCall = Pick<
  AgentCall,
  'kind' | 'name' | 'input' | 'output' | 'truncated' | 'usage' | 'failure' | 'duration_ms'
> & { place: CallKey; startedAt: Date };

/**
 * Records a call that has ended. It replaces an earlier failure, and a different call with the same key. An answered call
 * stays unchanged. Writes nothing for a run that has been erased. Characters that PostgreSQL cannot store are removed.
 */
export async function recordCall(database: Database, call: NewCall): Promise<void> {
  const isReplaceable = sql`agent_calls.failure is not null
      or (agent_calls.name, agent_calls.input::text) is distinct from (excluded.name, excluded.input::text)`;
  await writeCall(database, call, isReplaceable);
}

/**
 * Records that a call begins, as {@link IN_PROGRESS}. `earlier` is what {@link findCall} has returned. Returns false if
 * another worker has recorded the call since, or the run has been erased. May be repeated with the same `startedAt`.
 */
export async function beginCall(
  database: Database,
  call: Omit<NewCall, 'output' | 'usage' | 'failure' | 'duration_ms'>,
  earlier: RecordedCall | null,
): Promise<boolean> {
  const begun = { ...call, output: null, usage: null, failure: IN_PROGRESS, duration_ms: 0 };
  const known = earlier === null ? null : new Date(earlier.started_at).toISOString();
  const isUnchanged = sql`agent_calls.started_at in (${known}::timestamptz, excluded.started_at)`;
  return (await writeCall(database, begun, isUnchanged)) > 0;
}

/** Writes the row of a call, which replaces a row with the same key under this condition. Returns the number of rows. */
async function writeCall(
  database: Database,
  call: NewCall,
  isReplaceable: RawBuilder<unknown>,
): Promise<number> {
  const { place, usage } = call;
  const statement = sql`
    insert into agent_calls (
      execution_id, step_id, attempt, number, kind, name, input, output, truncated,
      input_tokens, output_tokens, cost_usd, failure, started_at, duration_ms
    )
    select
      id, ${place.stepId}::uuid, ${place.attempt}::integer, ${place.number}::integer, ${call.kind}::text,
      ${storable(call.name)}::text, ${jsonOf(call.input)}::json, ${jsonOf(call.output)}::json, ${call.truncated}::boolean,
      ${usage?.input_tokens ?? null}::integer, ${usage?.output_tokens ?? null}::integer,
      ${usage?.cost_usd ?? null}::double precision, ${call.failure === null ? null : storable(call.failure)}::text,
      ${call.startedAt.toISOString()}::timestamptz, ${Math.round(call.duration_ms)}::integer
    from task_runs where id = ${place.executionId}::uuid
    on conflict (execution_id, step_id, attempt, number) do update set
      name = excluded.name, input = excluded.input, output = excluded.output, truncated = excluded.truncated,
      input_tokens = excluded.input_tokens, output_tokens = excluded.output_tokens, cost_usd = excluded.cost_usd,
      failure = excluded.failure, started_at = excluded.started_at, duration_ms = excluded.duration_ms
    where ${isReplaceable}
  `.compile(queryBuilderOf(database));
  return (await runPrepared(database, statement)).count;
}

/** The parts of a recorded call that a repeat of the call needs. */
export type RecordedCall = Pick<
  AgentCall,
  'name' | 'input' | 'output' | 'truncated' | 'failure' | 'started_at'
>;

/** Returns the recorded call with this key; null if there is none. */
export async function findCall(database: Database, key: CallKey): Promise<RecordedCall | null> {
  const { rows } = await sql<RecordedCall>`
    select name, input, output, truncated, failure, started_at from agent_calls
    where execution_id = ${key.executionId}::uuid and step_id = ${key.stepId}::uuid
      and attempt = ${key.attempt}::integer and number = ${key.number}::integer
  `.execute(queryBuilderOf(database));
  return rows[0] ?? null;
}

/**
 * Returns whether a call is the recorded one. After a reset in the Temporal Web UI, the conversation may have continued
 * differently, and then a different call has the same key.
 */
export function isSameCall(recorded: RecordedCall, call: Pick<AgentCall, 'name' | 'input'>): boolean {
  return recorded.name === storable(call.name) && jsonOf(recorded.input) === jsonOf(call.input);
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
  return value === undefined || value === null ? null : JSON.stringify(storableJson(value));
}
