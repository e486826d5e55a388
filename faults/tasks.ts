import { setTimeout as wait } from 'node:timers/promises';
import { isTerminal } from '../src/domain/tasks/task-states.ts';
import type { TaskRecord, CallerRequest } from './records.ts';
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
const RETRY_INTERVAL_MS = 400;

/** Submits every planned task at its time, sends its commands and polls it to its end. */
export function submitTasks(deps: TaskDependencies, plans: readonly PlannedTask[]): TaskLoad {
  const records: TaskRecord[] = [];
  const done = Promise.all(
    plans.map(async (plan) => {
      await deps.waitUntil(plan.at);
      const record: TaskRecord = { plan, ids: [], secret: null, requests: [] };
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
    const response = await recorded(record, 'submit', () =>
      caller.request('POST', '/api/v1/tasks', { body, headers: { 'Idempotency-Key': plan.mark } }),
    );
    if (response?.status === 201) {
      const id = String(response.json.execution_id);
      record.ids.push(id);
      record.secret = String(response.json.callback_secret);
      return id;
    }
    if (plan.givesUp || isOver()) return null;
    await wait(RETRY_INTERVAL_MS);
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
    for (;;) {
      const response = await recorded(record, command, () =>
        caller.request('POST', `/api/v1/tasks/${id}/${command}`, { body: {} }),
      );
      if (response?.status === 202 || response?.status === 409 || isOver()) break;
      await wait(RETRY_INTERVAL_MS);
    }
  }
}

/** Polls the run through two APIs at once. Continues it if it waits for a person, or if a `continue` was lost. */
async function poll({ caller, isOver }: TaskDependencies, record: TaskRecord, id: string): Promise<void> {
  const commandCount = () =>
    record.requests.filter(
      ({ operation, status }) =>
        operation !== 'poll' && operation !== 'submit' && (status === 202 || status === 409),
    ).length;
  const read = () => recorded(record, 'poll', () => caller.request('GET', `/api/v1/tasks/${id}`));
  while (!isOver()) {
    await wait(POLL_MS);
    const [response] = await Promise.all([read(), read()]);
    if (response?.status !== 200) continue;
    if (isTerminal(response.json.state)) return;
    if (response.json.state === 'paused' && commandCount() >= record.plan.commands.length) {
      await recorded(record, 'continue', () =>
        caller.request('POST', `/api/v1/tasks/${id}/continue`, { body: {} }),
      );
    }
  }
}

/** Sends a request and records it with its response. */
async function recorded(
  { requests }: TaskRecord,
  operation: CallerRequest['operation'],
  send: () => Promise<ApiResponse>,
): Promise<ApiResponse> {
  const sentAt = performance.now();
  const response = await send();
  const { state, last_seq: lastSeq } = response?.json ?? {};
  const isRun = response !== null && response.status < 300 && operation !== 'submit';
  requests.push({
    operation,
    sentAt,
    receivedAt: response && performance.now(),
    status: response && response.status,
    ...(isRun ? { state, lastSeq } : {}),
  });
  return response;
}
