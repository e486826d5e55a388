import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { isTerminal, type TaskState } from '../../src/domain/tasks/task-states.ts';
import type { Receiver } from '../support/receiver.ts';
import { eventually, PATIENCE_MS } from '../support/eventually.ts';
import type { Service } from '../support/service.ts';
import type { Script } from './mixed-tasks.ts';

/** A task that was taken in with 201. */
export type Taken = { id: string; secret: string; script: Script };

/** A run as lists show it. */
export type Listed = {
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
  data: { to?: TaskState; state?: string; step?: { id: string; attempt: number } };
};

const LOOK_EVERY_MS = 150;

/** Submits one task for each script, all at once, with callbacks to the receiver. @throws unless all are taken */
export async function submitAll(
  service: Service,
  receiver: Receiver,
  scripts: readonly Script[],
): Promise<Taken[]> {
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

/** Every run there is, newest first; with `wanted`, only as many pages as hold all of these. */
export async function allRuns(service: Service, wanted?: ReadonlySet<string>): Promise<Listed[]> {
  const runs: Listed[] = [];
  for (let cursor = ''; ; ) {
    const { status, json, text } = await service.send('GET', `/api/v1/tasks?limit=200${cursor}`);
    if (status !== 200) throw new Error(`the list answered ${status}: ${text}`);
    runs.push(...json.data);
    const hasAll = wanted && runs.filter((run) => wanted.has(run.execution_id)).length === wanted.size;
    if (json.next_cursor === null || hasAll) return runs;
    cursor = `&cursor=${json.next_cursor}`;
  }
}

/** Resolves with all these runs once `holds` is true of each; an outage on the way is waited out. */
export async function untilEach(
  service: Service,
  ids: readonly string[],
  what: string,
  holds: (run: Listed) => boolean,
  withinMs: number,
): Promise<Listed[]> {
  const wanted = new Set(ids);
  let last: Listed[] = [];
  const look = async () => {
    // Whoever looks without a rest takes the time of those that work.
    await wait(LOOK_EVERY_MS);
    last = (await allRuns(service, wanted).catch(() => last)).filter((run) => wanted.has(run.execution_id));
    return last.length === wanted.size && last.every(holds) && last;
  };
  return await eventually(what, look, withinMs).catch((error: Error) => {
    const others = last.filter((run) => !holds(run)).map((run) => JSON.stringify(run));
    throw new Error(`${error.message}; ${last.length} of ${wanted.size} are there\n${others.join('\n')}`);
  });
}

/** Resolves with the runs that are under way once each of these has completed a step. @throws when all have ended */
export async function untilInTheMiddle(service: Service, taken: readonly Taken[]): Promise<Listed[]> {
  const runs = await untilEach(
    service,
    taken.map(({ id }) => id),
    'all runs have completed a step',
    (run) => run.progress.steps_completed > 0,
    PATIENCE_MS,
  );
  const underWay = runs.filter((run) => run.state === 'executing');
  assert.ok(underWay.length > 0, 'some runs are still under way');
  return underWay;
}

/** Resolves when all these runs have ended and their callbacks are settled. */
export function untilSettled(
  service: Service,
  ids: readonly string[],
  withinMs = 150_000,
): Promise<Listed[]> {
  return untilEach(
    service,
    ids,
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

/** Milliseconds from `since` until the slowest of these runs told of something new, by the times in the feed. */
export async function longestSilence(
  service: Service,
  ids: readonly string[],
  since: number,
): Promise<number> {
  const silences = await Promise.all(
    ids.map(async (id) => {
      const times = (await eventsOf(service, id)).map((event) => Date.parse(event.at));
      return Math.min(...times.filter((at) => at > since)) - since;
    }),
  );
  return Math.max(...silences);
}

/** Looks at all these runs, a few at once. @throws what `check` throws first */
export async function assertEach(
  taken: readonly Taken[],
  check: (task: Taken) => Promise<void>,
): Promise<void> {
  const left = [...taken];
  const lookOn = async () => {
    for (let task = left.pop(); task; task = left.pop()) await check(task);
  };
  await Promise.all(Array.from({ length: 8 }, lookOn));
}

/** @throws unless the run ended as its script says, and its feed tells each thing once, without gap or repeat */
export async function assertRanOnce(service: Service, { id, script }: Taken): Promise<void> {
  const { json: detail } = await service.send('GET', `/api/v1/tasks/${id}`);
  const events = await eventsOf(service, id);
  const told = `${id}: ${JSON.stringify(events)}`;
  assert.equal(detail.state, script.state, told);
  const steps = detail.steps as { id: string; status: string; attempt: number }[];
  assert.deepEqual(
    steps.map(({ status, attempt }) => [status, attempt]),
    script.steps,
    told,
  );
  assert.deepEqual(
    events.map(({ seq }) => seq),
    events.map((_, index) => index + 1),
    told,
  );
  assert.equal(detail.last_seq, events.length, told);

  const of = (type: string) => events.filter((event) => event.type === type);
  const completed = steps.filter(({ status }) => status === 'completed').map((step) => step.id);
  const toldCompleted = of('step.completed').map(({ data }) => data.step?.id ?? '');
  assert.deepEqual(toldCompleted.toSorted(), completed.toSorted(), told);
  const begun = of('step.started').map(({ data }) => `${data.step?.id} ${data.step?.attempt}`);
  const attempts = steps.flatMap((step) =>
    Array.from({ length: step.attempt }, (_, index) => `${step.id} ${index + 1}`),
  );
  assert.deepEqual(begun.toSorted(), attempts.toSorted(), told);
  assert.deepEqual(
    of('run.ended').map(({ data }) => data.state),
    [script.state],
    told,
  );
  const states = of('state.changed').map(({ data }) => data.to);
  assert.deepEqual(states, ['planning', 'executing', script.state], told);
}

/** @throws unless the receiver got the signed result of the run, in at most three attempts that are all on record */
export async function assertDelivered(
  service: Service,
  receiver: Receiver,
  { id, secret, script }: Taken,
): Promise<void> {
  const { json: detail } = await service.send('GET', `/api/v1/tasks/${id}`);
  const { json: log } = await service.send('GET', `/api/v1/tasks/${id}/callbacks`);
  const attempts = log.data as { attempt: number; response_status: number | null; request_body: string }[];
  const told = `${id}: ${JSON.stringify(attempts)}`;
  const received = receiver.requests.filter((request) => request.headers['x-service-delivery'] === id);
  assert.ok(received.length >= 1, `nothing came; ${told}`);
  assert.ok(received.length <= attempts.length, `more came than is on record; ${told}`);
  assert.ok(attempts.length <= 3, told);
  assert.deepEqual(
    attempts.map(({ attempt }) => attempt),
    attempts.map((_, index) => index + 1),
    told,
  );
  assert.equal(attempts.at(-1)?.response_status, 204, told);
  assert.equal(detail.callback.status, 'delivered', told);
  for (const { body, headers } of received) {
    assert.equal(body.toString(), attempts[0]?.request_body);
    const signature = createHmac('sha256', secret).update(body).digest('hex');
    assert.equal(headers['x-service-signature'], `sha256=${signature}`);
    assert.equal(JSON.parse(body.toString()).status, script.state);
  }
}
