import { sql } from 'kysely';
import type { AgentCall } from '../../domain/agents/agent-work.ts';
import { queryBuilderOf, type Database } from '../database.ts';
import { IN_PROGRESS } from './agent-calls.ts';

/** The call after which a page begins. */
export type CallCursor = { startedAt: string; stepId: string; attempt: number; number: number };

type Row = Omit<AgentCall, 'usage'> & {
  input_tokens: number | null;
  output_tokens: number | null;
  cost_usd: number | null;
  started_at: string;
};

/** Returns a page of the calls of a run that have ended, in the order they started. */
export async function listCalls(
  database: Database,
  executionId: string,
  { kind, cursor, limit }: { kind: AgentCall['kind'] | null; cursor: CallCursor | null; limit: number },
): Promise<AgentCall[]> {
  const behind = cursor
    ? sql`and (started_at, step_id, attempt, number) > (
        ${cursor.startedAt}::timestamptz, ${cursor.stepId}::uuid, ${cursor.attempt}::integer, ${cursor.number}::integer
      )`
    : sql``;
  const ofKind = kind === null ? sql`` : sql`and kind = ${kind}`;
  const { rows } = await sql<Row>`
    select step_id, attempt, number, kind, name, input, output, truncated,
      input_tokens, output_tokens, cost_usd, failure, started_at, duration_ms
    from agent_calls
    where execution_id = ${executionId}::uuid and failure is distinct from ${IN_PROGRESS} ${ofKind} ${behind}
    order by started_at, step_id, attempt, number limit ${limit}
  `.execute(queryBuilderOf(database));
  return rows.map(callOf);
}

function callOf({ input_tokens, output_tokens, cost_usd, ...row }: Row): AgentCall {
  const usage =
    input_tokens === null || output_tokens === null
      ? null
      : { input_tokens, output_tokens, ...(cost_usd === null ? {} : { cost_usd }) };
  return { ...row, usage, started_at: new Date(row.started_at).toISOString() };
}
