import { sql } from 'kysely';
import { queryBuilderOf, type Database } from '../../src/database/database.ts';

/** A row of the record of calls. */
export type RecordedCall = {
  step_id: string;
  attempt: number;
  number: number;
  kind: 'model' | 'tool';
  name: string;
  input: unknown;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests read outputs of every shape
  output: any;
  truncated: boolean;
  input_tokens: number | null;
  output_tokens: number | null;
  cost_usd: number | null;
  failure: string | null;
};

/** Returns the recorded calls of a run, by step, attempt and number. */
export async function callsOf(database: Database, executionId: string): Promise<RecordedCall[]> {
  const { rows } = await sql<RecordedCall>`
    select step_id, attempt, number, kind, name, input, output, truncated, input_tokens, output_tokens, cost_usd, failure
    from agent_calls where execution_id = ${executionId}::uuid order by step_id, attempt, number
  `.execute(queryBuilderOf(database));
  return rows;
}
