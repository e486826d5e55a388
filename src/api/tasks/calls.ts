import type { CallCursor } from '../../database/agents/call-list.ts';
import type { TaskRunRow } from '../../database/tasks/task-runs.ts';
import { UUID } from '../../domain/common/text.ts';
import type { AgentCall } from '../../domain/agents/agent-work.ts';

/** Returns a call as an entry of a list; `step` is null for calls of the planner, before there are steps. */
export function presentCall(call: AgentCall, run: TaskRunRow) {
  const step = run.steps.find(({ id }) => id === call.step_id);
  const { step_id: _, ...rest } = call;
  return { step: step?.name ?? null, agent: step?.agent ?? null, ...rest };
}

/** Returns an opaque cursor for the end of a page. */
export function cursorAt({ started_at, step_id, attempt, number }: AgentCall): string {
  return Buffer.from(`${started_at} ${step_id} ${attempt} ${number}`).toString('base64url');
}

const CURSOR = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z) ([0-9a-f-]{36}) (\d{1,9}) (\d{1,9})$/;

/** Parses a cursor; null if it is not valid. */
export function readCursor(text: string): CallCursor | null {
  const [, startedAt, stepId, attempt, number] =
    CURSOR.exec(Buffer.from(text, 'base64url').toString('latin1')) ?? [];
  if (startedAt === undefined || stepId === undefined || Number.isNaN(Date.parse(startedAt))) return null;
  if (!UUID.test(stepId)) return null;
  return { startedAt, stepId, attempt: Number(attempt), number: Number(number) };
}
