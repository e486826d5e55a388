import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { isTerminal, type TaskState } from '../../src/domain/tasks/task-states.ts';
import type { Receiver } from '../support/receiver.ts';
import { eventually } from '../support/eventually.ts';
import type { Service } from '../support/service.ts';
import type { Script } from './mixed-tasks.ts';

/** A task that was accepted with 201. An empty secret is unknown. */
export type SubmittedTask = { id: string; secret: string; script: Script };

/** A run as lists show it. */
export type ListedRun = {
  execution_id: string;
  state: TaskState;
  progress: { steps_completed: number };
  callback: { status: string };
  metadata: Record<string, unknown>;
};

type FeedEvent = {
  seq: number;
  type: string;
  at: string;
  data: { to?: TaskState; state?: string; reason?: string; step?: { id: string; attempt: number } };
};

const POLL_INTERVAL_MS = 150;

/** Submits one task for each script, all at once, with callbacks to the receiver. @throws unless all are accepted */
export async function submitAll(
  service: Service,
  receiver: Receiver,
  scripts: readonly Script[],
): Promise<SubmittedTask[]> {
  return await Promise.all(
    scripts.map(async (script) => {
      const { status, json, text } = await service.submit({
        callback_url: receiver.url,
        metadata: { rehearsal: script.rehearsal },
      });
      assert.equal(status, 201, text);
      return { id: json.execution_id, secret: json.callback_secret, script };
    }),
  );
}

/** Submits one task. */
export async function submitOne(
  service: Service,
  receiver: Receiver,
  script: Script,
): Promise<SubmittedTask> {
  const [task] = await submitAll(service, receiver, [script]);
  assert.ok(task);
  return task;
}

/** Returns all runs, newest first. With `wanted`, it reads only the pages up to the last of these. */
export async function allRuns(service: Service, wanted?: ReadonlySet<string>): Promise<ListedRun[]> {
  const runs: ListedRun[] = [];
  for (let cursor = ''; ; ) {
    const { status, json, text } = await service.send('GET', `/api/v1/tasks?limit=200${cursor}`);
    if (status !== 200) throw new Error(`the list returned ${status}: ${text}`);
    runs.push(...json.data);
    const hasAll = wanted && runs.filter((run) => wanted.has(run.execution_id)).length === wanted.size;
    if (json.next_cursor === null || hasAll) return runs;
    cursor = `&cursor=${json.next_cursor}`;
  }
}

/** Resolves with all these runs once `holds` is true for each. Waits for the end of an outage. */
export async function untilEach(
  service: Service,
  ids: readonly string[],
  what: string,
  holds: (run: ListedRun) => boolean,
  withinMs: number,
): Promise<ListedRun[]> {
  const wanted = new Set(ids);
  let last: ListedRun[] = [];
  const poll = async () => {
    // Polling without a pause would slow down the service.
    await wait(POLL_INTERVAL_MS);
    last = (await allRuns(service, wanted).catch(() => last)).filter((run) => wanted.has(run.execution_id));
    return last.length === wanted.size && last.every(holds) && last;
  };
  return await eventually(what, poll, withinMs).catch((error: Error) => {
    const others = last.filter((run) => !holds(run)).map((run) => JSON.stringify(run));
    throw new Error(`${error.message}; ${last.length} of ${wanted.size} are listed\n${others.join('\n')}`);
  });
}

/** Resolves with the runs in progress that have completed a step, once there are any. */
export async function untilInProgress(
  service: Service,
  taken: readonly SubmittedTask[],
): Promise<ListedRun[]> {
  const wanted = new Set(taken.map(({ id }) => id));
  return await eventually('a run in progress has completed a step', async () => {
    await wait(POLL_INTERVAL_MS);
    const runs = await allRuns(service, wanted);
    const running = runs.filter(
      (run) => wanted.has(run.execution_id) && run.state === 'executing' && run.progress.steps_completed > 0,
    );
    return running.length > 0 && running;
  });
}

/** Resolves when all these runs have ended and their callbacks are settled. */
export function untilSettled(
  service: Service,
  tasks: readonly { id: string }[],
  withinMs = 150_000,
): Promise<ListedRun[]> {
  return untilEach(
    service,
    tasks.map(({ id }) => id),
    'all runs have ended and their callbacks are settled',
    (run) => isTerminal(run.state) && run.callback.status !== 'pending',
    withinMs,
  );
}

export async function eventsOf(service: Service, id: string): Promise<FeedEvent[]> {
  const { status, json, text } = await service.send('GET', `/api/v1/tasks/${id}/events`);
  assert.equal(status, 200, text);
  return json.data;
}

/** Returns the milliseconds from `since` until the slowest of these runs had a new event, by the times in the feed. */
export async function longestPause(service: Service, ids: readonly string[], since: number): Promise<number> {
  const pauses = await Promise.all(
    ids.map(async (id) => {
      const times = (await eventsOf(service, id)).map((event) => Date.parse(event.at));
      return Math.min(...times.filter((at) => at > since)) - since;
    }),
  );
  return Math.max(...pauses);
}

/** Asserts that each run ran once, and that its callback was delivered if the caller knows its secret. */
export async function assertAllDelivered(
  service: Service,
  receiver: Receiver,
  tasks: readonly SubmittedTask[],
): Promise<void> {
  const left = [...tasks];
  const checkNext = async () => {
    for (let task = left.pop(); task; task = left.pop()) {
      await assertRanOnce(service, task);
      if (task.secret !== '') await assertDelivered(service, receiver, task);
    }
  };
  await Promise.all(Array.from({ length: 8 }, checkNext));
}

/** Asserts that the run ended as in its script, and that its feed has each event once, without gaps. */
async function assertRanOnce(service: Service, { id, script }: SubmittedTask): Promise<void> {
  const { json: detail } = await service.send('GET', `/api/v1/tasks/${id}`);
  const events = await eventsOf(service, id);
  const message = `${id}: ${JSON.stringify(events)}`;
  assert.equal(detail.state, script.state, message);
  const steps = detail.steps as { id: string; status: string; attempt: number }[];
  assert.deepEqual(
    steps.map(({ status, attempt }) => [status, attempt]),
    script.steps,
    message,
  );
  assert.deepEqual(
    events.map(({ seq }) => seq),
    events.map((_, index) => index + 1),
    message,
  );
  assert.equal(detail.last_seq, events.length, message);

  const of = (type: string) => events.filter((event) => event.type === type);
  const completed = steps.filter(({ status }) => status === 'completed').map((step) => step.id);
  const recordedCompleted = of('step.completed').map(({ data }) => data.step?.id ?? '');
  assert.deepEqual(recordedCompleted.toSorted(), completed.toSorted(), message);
  const started = of('step.started').map(({ data }) => `${data.step?.id} ${data.step?.attempt}`);
  const attempts = steps.flatMap((step) =>
    Array.from({ length: step.attempt }, (_, index) => `${step.id} ${index + 1}`),
  );
  assert.deepEqual(started.toSorted(), attempts.toSorted(), message);
  assert.deepEqual(
    of('run.ended').map(({ data }) => data.state),
    [script.state],
    message,
  );
  const states = of('state.changed').map(({ data }) => data.to);
  assert.deepEqual(states, ['planning', 'executing', script.state], message);
}

/** Asserts that the receiver got the signed result of the run, in at most three recorded attempts. */
export async function assertDelivered(
  service: Service,
  receiver: Receiver,
  { id, secret, script }: SubmittedTask,
): Promise<void> {
  const { json: detail } = await service.send('GET', `/api/v1/tasks/${id}`);
  const { json: log } = await service.send('GET', `/api/v1/tasks/${id}/callbacks`);
  const attempts = log.data as { attempt: number; response_status: number | null; request_body: string }[];
  const message = `${id}: ${JSON.stringify(attempts)}`;
  const received = receiver.requests.filter((request) => request.headers['x-service-delivery'] === id);
  assert.ok(received.length >= 1, `no request arrived; ${message}`);
  assert.ok(received.length <= attempts.length, `more requests arrived than are recorded; ${message}`);
  assert.ok(attempts.length <= 3, message);
  assert.deepEqual(
    attempts.map(({ attempt }) => attempt),
    attempts.map((_, index) => index + 1),
    message,
  );
  assert.equal(attempts.at(-1)?.response_status, 204, message);
  assert.equal(detail.callback.status, 'delivered', message);
  for (const { body, headers } of received) {
    assert.equal(body.toString(), attempts[0]?.request_body);
    const signature = createHmac('sha256', secret).update(body).digest('hex');
    assert.equal(headers['x-service-signature'], `sha256=${signature}`);
    assert.equal(JSON.parse(body.toString()).status, script.state);
  }
}
