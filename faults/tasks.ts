import { setTimeout as wait } from 'node:timers/promises';
import { isTerminal } from '../src/domain/tasks/task-states.ts';
import type { TaskRecord, CallerResponse } from './records.ts';
import type { ApiResponse, Caller } from './caller.ts';
import type { PlannedTask } from './plan-tasks.ts';

export type TaskLoad = {
  records: readonly TaskRecord[];
  /** Resolves when every run has ended or its caller has given up. */
  done: Promise<void>;
};

export type TaskDependencies = {
  caller: Caller;
  projectId: string;
  callbackUrl: string;
  /** Resolves at that time, in milliseconds since the start of the scenario. */
  waitUntil(at: number): Promise<void>;
  /** True at the end of the scenario. */
  isOver(): boolean;
  onAccepted(plan: PlannedTask, id: string): void;
};

const POLL_MS = 1_500;

/** Submits every planned task at its time, sends its commands and polls it to its end. */
export function submitTasks(deps: TaskDependencies, plans: readonly PlannedTask[]): TaskLoad {
  const records: TaskRecord[] = [];
  const done = Promise.all(
    plans.map(async (plan) => {
      await deps.waitUntil(plan.at);
      const record: TaskRecord = { plan, ids: [], secret: null, responses: [] };
      records.push(record);
      const id = await submit(deps, record);
      if (id === null) return;
      deps.onAccepted(plan, id);
      await Promise.all([sendCommands(deps, record, id), poll(deps, record, id)]);
    }),
  );
  return { records, done: done.then(() => {}) };
}

/** Sends a submission until it is accepted, under the same key. Some give up after the first failure. */
async function submit(
  { caller, projectId, callbackUrl, isOver }: TaskDependencies,
  record: TaskRecord,
): Promise<string | null> {
  const { plan } = record;
  const body = {
    title: `A task that ${plan.script}`,
    project_id: projectId,
    metadata: { mark: plan.mark, rehearsal: plan.rehearsal },
    ...(plan.withCallback ? { callback_url: callbackUrl } : {}),
  };
  for (;;) {
    const response = await caller.request('POST', '/api/v1/tasks', {
      body,
      headers: { 'Idempotency-Key': plan.mark },
    });
    recordResponse(record, 'submit', response);
    if (response?.status === 201) {
      const id = String(response.json.execution_id);
      record.ids.push(id);
      record.secret = String(response.json.callback_secret);
      return id;
    }
    if (plan.givesUp || isOver()) return null;
    await wait(500);
  }
}

/** Pauses, continues and cancels as planned. */
async function sendCommands(
  { caller, isOver }: TaskDependencies,
  record: TaskRecord,
  id: string,
): Promise<void> {
  const began = Date.now();
  for (const { after, command } of record.plan.commands) {
    await wait(Math.max(0, began + after - Date.now()));
    const response = await caller.requestUntil(
      'POST',
      `/api/v1/tasks/${id}/${command}`,
      { body: {}, until: [202, 409] },
      isOver,
    );
    recordResponse(record, command, response);
  }
}

/** Polls the run. Continues it if it waits for a person, or if a `continue` was lost. */
async function poll({ caller, isOver }: TaskDependencies, record: TaskRecord, id: string): Promise<void> {
  const commandCount = () =>
    record.responses.filter(({ operation }) => operation !== 'poll' && operation !== 'submit').length;
  while (!isOver()) {
    await wait(POLL_MS);
    const response = await caller.request('GET', `/api/v1/tasks/${id}`);
    recordResponse(record, 'poll', response);
    if (response?.status !== 200) continue;
    if (isTerminal(response.json.state)) return;
    if (response.json.state === 'paused' && commandCount() >= record.plan.commands.length) {
      recordResponse(
        record,
        'continue',
        await caller.request('POST', `/api/v1/tasks/${id}/continue`, { body: {} }),
      );
    }
  }
}

function recordResponse(
  record: TaskRecord,
  operation: CallerResponse['operation'],
  response: ApiResponse,
): void {
  if (!response) return;
  const { state, last_seq: lastSeq } = response.json ?? {};
  const isRun = response.status < 300 && operation !== 'submit';
  record.responses.push({ operation, status: response.status, ...(isRun ? { state, lastSeq } : {}) });
}
