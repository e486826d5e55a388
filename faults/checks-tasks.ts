import { createHmac } from 'node:crypto';
import { isTerminal } from '../src/domain/tasks/task-states.ts';
import type { FeedEvent } from '../src/domain/tasks/feed-events.ts';
import { reportCount, expectNone, expectSome, type InvariantResult } from './invariants.ts';
import { findUnexplained, type Operation } from './linearizability.ts';
import {
  feedHistory,
  feedModel,
  runHistory,
  runModel,
  type FeedInput,
  type RunInput,
} from './run-history.ts';
import type { CallerRequest, RequestRecord, ScenarioRecords, RunRow } from './records.ts';

/** The limit of attempts of a callback (docs/callbacks.md). */
const MAX_CALLBACKS = 3;

/** Checks the invariants of tasks, their feeds and their callbacks. */
export function checkTasks(records: ScenarioRecords): InvariantResult[] {
  return [
    ...checkSubmissions(records),
    ...checkStates(records),
    ...checkHistories(records),
    ...checkFeeds(records),
    ...checkViewers(records),
    ...checkCallbacks(records),
  ];
}

function checkSubmissions({ tasks, runs, unexpectedResponses }: ScenarioRecords): InvariantResult[] {
  const storedIds = new Set(runs.map(({ id }) => id));
  const runsByMark = groupBy(runs, ({ mark }) => mark ?? '');
  const accepted = tasks.filter((task) => task.ids.length > 0);
  return [
    reportCount('tasks: submissions accepted (201)', accepted.length, `of ${tasks.length}`),
    expectNone(
      'tasks: accepted submissions lost',
      accepted.flatMap((task) => task.ids.filter((id) => !storedIds.has(id))),
    ),
    expectNone(
      'tasks: submissions that ran twice',
      tasks
        .filter(({ plan, ids }) => (runsByMark.get(plan.mark)?.length ?? 0) > 1 || new Set(ids).size > 1)
        .map(({ plan }) => plan.mark),
    ),
    expectNone('all: undocumented responses', unexpectedResponses),
  ];
}

function checkStates({ tasks, runs, feed }: ScenarioRecords): InvariantResult[] {
  const byId = new Map(runs.map((run) => [run.id, run]));
  const pairs = tasks.flatMap((task) => task.ids.map((id) => ({ task, run: byId.get(id) })));
  const statesOf = (run: RunRow) => [
    'initializing',
    ...(feed.get(run.id) ?? []).filter(({ type }) => type === 'state.changed').map(({ data }) => data['to']),
  ];
  return [
    expectNone(
      'tasks: runs not terminal',
      runs.filter(({ state }) => !isTerminal(state)).map(({ id, state }) => `${id} is ${state}`),
    ),
    expectNone(
      'tasks: runs with more than one terminal state',
      runs.filter((run) => hasSeveralTerminalStates(run, feed)).map(idOf),
    ),
    expectNone(
      'tasks: runs whose end differs from their script',
      pairs.flatMap(({ task, run }) => {
        if (!run || !isTerminal(run.state)) return [];
        const cancels = task.plan.commands.some(({ command }) => command === 'cancel');
        const allowed = cancels ? [...task.plan.finalStates, 'cancelled'] : task.plan.finalStates;
        return allowed.includes(run.state) ? [] : [`${run.id} that ${task.plan.script} is ${run.state}`];
      }),
    ),
    expectNone(
      'tasks: accepted cancels of runs that were not cancelled',
      pairs.flatMap(({ task, run }) =>
        run && isTerminal(run.state) && run.state !== 'cancelled' && task.requests.some(isAccepted('cancel'))
          ? [`${run.id} is ${run.state}`]
          : [],
      ),
    ),
    expectNone(
      'tasks: reported states that never occurred',
      pairs.flatMap(({ task, run }) => {
        if (!run) return [];
        const states = statesOf(run);
        return task.requests.flatMap(({ state }) =>
          state === undefined || states.includes(state) ? [] : [`${run.id} was reported as ${state}`],
        );
      }),
    ),
    expectSome('tasks: runs paused', runs.filter((run) => statesOf(run).includes('paused')).length),
    expectSome('tasks: runs cancelled', runs.filter(({ state }) => state === 'cancelled').length),
    expectSome('tasks: runs escalated', runs.filter(({ state }) => state === 'escalated').length),
    expectSome('tasks: runs failed', runs.filter(({ state }) => state === 'failed').length),
  ];
}

const isAccepted =
  (command: 'cancel') =>
  ({ operation, status }: CallerRequest) =>
    operation === command && status === 202;

function hasSeveralTerminalStates(run: RunRow, feed: ScenarioRecords['feed']): boolean {
  const events = feed.get(run.id) ?? [];
  const ends = events.filter(({ type }) => type === 'run.ended');
  const changes = events.filter(({ type }) => type === 'state.changed').map(({ data }) => data['to']);
  const terminal = changes.filter((state) => isTerminal(state as RunRow['state']));
  if (!isTerminal(run.state)) return ends.length + terminal.length > 0;
  const isOne = ends.length === 1 && terminal.length === 1 && changes.at(-1) === terminal[0];
  return !isOne || terminal[0] !== run.state || ends[0]?.data['state'] !== run.state;
}

/**
 * Checks that one order explains what callers and viewers observed of each run (`linearizability.ts`). Uses nothing that
 * the service has stored.
 */
function checkHistories({ tasks, viewers }: ScenarioRecords): InvariantResult[] {
  const viewersByRun = groupBy(viewers, ({ executionId }) => executionId);
  const accepted = tasks.flatMap(({ ids, plan, requests }) =>
    ids.slice(0, 1).map((id) => ({ id, plan, requests })),
  );
  return [
    reportCount(
      'tasks: operations in histories',
      accepted.reduce((sum, { requests }) => sum + runHistory(requests).length, 0),
    ),
    expectNone(
      'tasks: histories that no order explains',
      accepted.flatMap(({ id, plan, requests }) => {
        const questions = plan.script === 'is asked' ? Infinity : 0;
        return describeUnexplained(id, findUnexplained(runHistory(requests), runModel(questions)));
      }),
    ),
    expectNone(
      'viewers: feeds that no order explains',
      accepted.flatMap(({ id, requests }) => {
        const seenBy = viewersByRun.get(id) ?? [];
        return describeUnexplained(id, findUnexplained(feedHistory(requests, seenBy), feedModel(seenBy)));
      }),
    ),
  ];
}

const DESCRIBED_OPERATIONS = 6;

function describeUnexplained(id: string, unexplained: Operation<RunInput | FeedInput>[] | null): string[] {
  if (!unexplained) return [];
  const last = unexplained.slice(-DESCRIBED_OPERATIONS).map(({ input, calledAt, returnedAt }) => {
    const { kind, ...details } = input;
    return `${Math.round(calledAt)}–${Math.round(returnedAt)} ${[kind, ...Object.values(details)].join(' ')}`;
  });
  return [`${id}: ${last.join('; ')}`];
}

function checkFeeds({ runs, feed }: ScenarioRecords): InvariantResult[] {
  const stepOf = ({ data }: FeedEvent) => (data['step'] as { id?: string } | undefined)?.id ?? '';
  const stepCounts = runs.map(({ id, steps }) => ({
    id,
    done: (feed.get(id) ?? []).filter(({ type }) => type === 'step.completed').map(stepOf),
    shown: steps.filter(({ status }) => status === 'completed').length,
  }));
  return [
    reportCount(
      'feed: events',
      [...feed.values()].reduce((sum, events) => sum + events.length, 0),
    ),
    expectNone(
      'feed: steps recorded twice',
      stepCounts.flatMap(({ id, done }) =>
        done.filter((step, index) => done.indexOf(step) !== index).map((step) => `${id} ${step}`),
      ),
    ),
    expectNone(
      'feed: runs whose completed steps differ from their feed',
      stepCounts.flatMap(({ id, done, shown }) => {
        const count = new Set(done).size;
        return count === shown ? [] : [`${id} has ${count} in its feed and shows ${shown}`];
      }),
    ),
    ...checkSequences(
      'feed: ',
      runs.map((run) => ({ id: run.id, events: feed.get(run.id) ?? [] })),
    ),
    expectNone(
      'feed: runs whose last_seq is not their last event',
      runs.filter((run) => run.last_seq !== (feed.get(run.id)?.at(-1)?.seq ?? 0)).map(idOf),
    ),
  ];
}

/** Checks that `seq` counts 1, 2, 3 …, without gaps or duplicates, and in order. */
function checkSequences(
  prefix: string,
  sequences: { id: string; events: readonly FeedEvent[] }[],
): InvariantResult[] {
  const gaps: string[] = [];
  const repeats: string[] = [];
  const breaks: string[] = [];
  for (const { id, events } of sequences) {
    const seen = new Set<number>();
    let last = 0;
    for (const { seq } of events) {
      if (seen.has(seq)) repeats.push(`${id} ${seq}`);
      else if (seq < last) breaks.push(`${id} ${seq} after ${last}`);
      seen.add(seq);
      last = Math.max(last, seq);
    }
    for (let seq = 1; seq <= last; seq += 1) if (!seen.has(seq)) gaps.push(`${id} ${seq}`);
  }
  return [
    expectNone(`${prefix}gaps`, gaps),
    expectNone(`${prefix}repeats`, repeats),
    expectNone(`${prefix}order breaks`, breaks),
  ];
}

function checkViewers({ viewers: all, feed }: ScenarioRecords): InvariantResult[] {
  const name = (viewer: ScenarioRecords['viewers'][number]) => `${viewer.executionId} by ${viewer.client}`;
  return [
    reportCount(
      'viewers: connections',
      all.reduce((sum, { connections }) => sum + connections, 0),
      `of ${all.length} viewers`,
    ),
    expectSome('viewers: reconnected', all.filter(({ connections }) => connections > 1).length),
    ...checkSequences(
      'viewers: ',
      all.map((viewer) => ({ id: name(viewer), events: viewer.events })),
    ),
    expectNone(
      'viewers: events that differ from the table',
      all.flatMap((viewer) => {
        const table = new Map((feed.get(viewer.executionId) ?? []).map((event) => [event.seq, event]));
        return viewer.events
          .filter((event) => !isSameEvent(event, table.get(event.seq)))
          .map(({ seq }) => `${name(viewer)} ${seq}`);
      }),
    ),
    expectNone(
      'viewers: never received the end',
      all.filter(({ events }) => !events.some(({ type }) => type === 'run.ended')).map(name),
    ),
  ];
}

function isSameEvent(one: FeedEvent, other: FeedEvent | undefined): boolean {
  const textOf = ({ type, at, data, execution_id: id }: FeedEvent) => JSON.stringify([type, at, data, id]);
  return other !== undefined && textOf(one) === textOf(other);
}

function checkCallbacks({ tasks, runs, callbacks: { log, requests } }: ScenarioRecords): InvariantResult[] {
  const secrets = new Map(tasks.flatMap((task) => task.ids.map((id) => [id, task.secret] as const)));
  const logged = groupBy(log, ({ execution_id: id }) => id);
  const requestsByRun = groupBy(requests, ({ delivery }) => delivery);
  const expected = runs.filter(
    (run) => run.has_callback && isTerminal(run.state) && run.state !== 'cancelled',
  );
  const isSettled = (run: RunRow) => {
    const rows = logged.get(run.id) ?? [];
    const answered = rows.some(({ response_status: status }) => isSuccess(status));
    return answered
      ? run.callback_status === 'delivered'
      : rows.length === MAX_CALLBACKS && run.callback_status === 'failed';
  };
  return [
    reportCount('callbacks: requests received', requests.length, `of ${expected.length} runs`),
    expectSome('callbacks: delivered', expected.filter((run) => run.callback_status === 'delivered').length),
    expectNone('callbacks: beyond 3', [
      ...[...logged].filter(([, rows]) => rows.length > MAX_CALLBACKS).map(([id]) => `${id} in the log`),
      ...[...requestsByRun]
        .filter(([id, all]) => all.length > MAX_CALLBACKS + countRepeats(logged.get(id) ?? []))
        .map(([id]) => `${id} at the receiver`),
    ]),
    expectNone(
      'callbacks: never sent, or given up before the third attempt',
      expected.filter((run) => !isSettled(run)).map(idOf),
    ),
    expectNone(
      'callbacks: of cancelled runs',
      runs
        .filter((run) => run.state === 'cancelled' && (requestsByRun.has(run.id) || logged.has(run.id)))
        .map(idOf),
    ),
    expectNone(
      'callbacks: after one with a 2xx response',
      [...logged]
        .filter(([, rows]) => rows.slice(0, -1).some(({ response_status: status }) => isSuccess(status)))
        .map(([id]) => id),
    ),
    expectNone(
      'callbacks: log rows that disagree with the receiver',
      [...new Set([...logged.keys(), ...requestsByRun.keys()])].filter(
        (id) => !agreesWithReceiver(logged.get(id) ?? [], requestsByRun.get(id) ?? []),
      ),
    ),
    ...checkRequests('callbacks: ', requests, (arrival) => secrets.get(arrival.delivery) ?? null),
    expectNone(
      'callbacks: with another final state than the run',
      runs
        .filter((run) =>
          (requestsByRun.get(run.id) ?? []).some(({ body }) => JSON.parse(body).status !== run.state),
        )
        .map(idOf),
    ),
  ];
}

/** The log entry about the requests of one attempt. */
type LoggedAttempt = { reconnected: boolean; failure: string | null };

/** Returns how many requests these attempts may have sent. */
export function countRequests(attempts: readonly LoggedAttempt[]): number {
  return attempts.length + countRepeats(attempts);
}

/**
 * Counts the attempts that sent their request twice: on a reused connection, which was closed, and on a new one. The log
 * does not say so for an attempt whose sender died, so it counts as well.
 */
function countRepeats(attempts: readonly LoggedAttempt[]): number {
  return attempts.filter(({ reconnected, failure }) => reconnected || failure === 'interrupted').length;
}

/** Returns whether the receiver gave every response in the log, and the log has every request that arrived. */
function agreesWithReceiver(
  rows: readonly (LoggedAttempt & { response_status: number | null })[],
  arrivals: readonly RequestRecord[],
): boolean {
  const given = (status: number) => arrivals.filter(({ responseStatus }) => responseStatus === status).length;
  const statuses = new Set(rows.flatMap(({ response_status: status }) => status ?? []));
  const isGiven = [...statuses].every(
    (status) => rows.filter(({ response_status: one }) => one === status).length <= given(status),
  );
  return isGiven && arrivals.length <= countRequests(rows);
}

/** Checks signatures and bytes. A secret is null if the caller never received it: it had no response. */
export function checkRequests(
  prefix: string,
  arrivals: readonly RequestRecord[],
  secretOf: (arrival: RequestRecord) => string | null,
): InvariantResult[] {
  const bodies = new Map<string, string>();
  const differing = new Set<string>();
  const forged: string[] = [];
  for (const arrival of arrivals) {
    const { delivery, body, signature } = arrival;
    if ((bodies.get(delivery) ?? body) !== body) differing.add(delivery);
    bodies.set(delivery, body);
    const secret = secretOf(arrival);
    if (secret === null) continue;
    const expected = `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
    if (signature !== expected) forged.push(delivery);
  }
  return [
    expectNone(`${prefix}signatures that do not verify`, forged),
    expectNone(`${prefix}bodies that differ between attempts`, [...differing]),
  ];
}

export function isSuccess(status: number | null): boolean {
  return status !== null && status >= 200 && status < 300;
}

export function groupBy<T>(things: readonly T[], keyOf: (thing: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const thing of things) {
    const group = groups.get(keyOf(thing));
    if (group) group.push(thing);
    else groups.set(keyOf(thing), [thing]);
  }
  return groups;
}

function idOf({ id }: { id: string }): string {
  return id;
}
