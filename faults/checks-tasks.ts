import { createHmac } from 'node:crypto';
import { isTerminal } from '../src/domain/tasks/task-states.ts';
import type { FeedEvent } from '../src/domain/tasks/feed-events.ts';
import { figure, none, some, type Arrival, type Books, type Line, type RunRow } from './books.ts';

/** At most so many attempts of a callback (docs/callbacks.md). */
const MOST_CALLBACKS = 3;

/** What must hold of tasks, their feeds and their callbacks. */
export function taskLines(books: Books): Line[] {
  return [...submissions(books), ...states(books), ...feeds(books), ...viewers(books), ...callbacks(books)];
}

function submissions({ tasks, runs, strangeAnswers }: Books): Line[] {
  const ids = new Set(runs.map(({ id }) => id));
  const marks = groupBy(runs, ({ mark }) => mark ?? '');
  const taken = tasks.filter((task) => task.ids.length > 0);
  return [
    figure('tasks: submissions answered 201', taken.length, `of ${tasks.length}`),
    none(
      'tasks: accepted submissions lost',
      taken.flatMap((task) => task.ids.filter((id) => !ids.has(id))),
    ),
    none(
      'tasks: submissions that ran twice',
      tasks
        .filter(({ plan, ids: told }) => (marks.get(plan.mark)?.length ?? 0) > 1 || new Set(told).size > 1)
        .map(({ plan }) => plan.mark),
    ),
    none('all: answers that no document promises', strangeAnswers),
  ];
}

function states({ tasks, runs, feed }: Books): Line[] {
  const byId = new Map(runs.map((run) => [run.id, run]));
  const told = tasks.flatMap((task) => task.ids.map((id) => ({ task, run: byId.get(id) })));
  const statesOf = (run: RunRow) => [
    'initializing',
    ...(feed.get(run.id) ?? []).filter(({ type }) => type === 'state.changed').map(({ data }) => data['to']),
  ];
  return [
    none(
      'tasks: runs not terminal',
      runs.filter(({ state }) => !isTerminal(state)).map(({ id, state }) => `${id} is ${state}`),
    ),
    none(
      'tasks: runs with more than one terminal state',
      runs.filter((run) => hasSeveralEnds(run, feed)).map(ofId),
    ),
    none(
      'tasks: runs that ended otherwise than they were played',
      told.flatMap(({ task, run }) => {
        if (!run || !isTerminal(run.state)) return [];
        const cancels = task.plan.wishes.some(({ wish }) => wish === 'cancel');
        const may = cancels ? [...task.plan.ends, 'cancelled'] : task.plan.ends;
        return may.includes(run.state) ? [] : [`${run.id} that ${task.plan.sort} is ${run.state}`];
      }),
    ),
    none(
      'tasks: cancels answered 202 of runs that ended otherwise',
      told.flatMap(({ task, run }) =>
        run && isTerminal(run.state) && run.state !== 'cancelled' && task.told.some(isTaken('cancel'))
          ? [`${run.id} is ${run.state}`]
          : [],
      ),
    ),
    none(
      'tasks: states told that never were',
      told.flatMap(({ task, run }) => {
        if (!run) return [];
        const been = statesOf(run);
        return task.told.flatMap(({ state }) =>
          state === undefined || been.includes(state) ? [] : [`${run.id} was told ${state}`],
        );
      }),
    ),
    none(
      'tasks: answers that went back in time',
      tasks
        .filter((task) => {
          const seqs = task.told
            .filter(({ asked }) => asked === 'poll')
            .flatMap(({ lastSeq }) => lastSeq ?? []);
          return seqs.some((seq, index) => seq < (seqs[index - 1] ?? 0));
        })
        .map(({ plan }) => plan.mark),
    ),
    some('tasks: runs paused', runs.filter((run) => statesOf(run).includes('paused')).length),
    some('tasks: runs cancelled', runs.filter(({ state }) => state === 'cancelled').length),
    some('tasks: runs escalated', runs.filter(({ state }) => state === 'escalated').length),
    some('tasks: runs failed', runs.filter(({ state }) => state === 'failed').length),
  ];
}

const isTaken = (wish: 'cancel') => (told: { asked: string; status: number }) =>
  told.asked === wish && told.status === 202;

function hasSeveralEnds(run: RunRow, feed: Books['feed']): boolean {
  const events = feed.get(run.id) ?? [];
  const ends = events.filter(({ type }) => type === 'run.ended');
  const changes = events.filter(({ type }) => type === 'state.changed').map(({ data }) => data['to']);
  const terminal = changes.filter((state) => isTerminal(state as RunRow['state']));
  if (!isTerminal(run.state)) return ends.length + terminal.length > 0;
  const isOne = ends.length === 1 && terminal.length === 1 && changes.at(-1) === terminal[0];
  return !isOne || terminal[0] !== run.state || ends[0]?.data['state'] !== run.state;
}

function feeds({ runs, feed }: Books): Line[] {
  const stepOf = ({ data }: FeedEvent) => (data['step'] as { id?: string } | undefined)?.id ?? '';
  const told = runs.map(({ id, steps }) => ({
    id,
    done: (feed.get(id) ?? []).filter(({ type }) => type === 'step.completed').map(stepOf),
    shown: steps.filter(({ status }) => status === 'completed').length,
  }));
  return [
    figure(
      'feed: events',
      [...feed.values()].reduce((sum, events) => sum + events.length, 0),
    ),
    none(
      'feed: steps recorded twice',
      told.flatMap(({ id, done }) =>
        done.filter((step, index) => done.indexOf(step) !== index).map((step) => `${id} ${step}`),
      ),
    ),
    none(
      'feed: runs that show other steps as completed than were told',
      told.flatMap(({ id, done, shown }) => {
        const count = new Set(done).size;
        return count === shown ? [] : [`${id} tells of ${count} and shows ${shown}`];
      }),
    ),
    ...sequenceLines(
      'feed: ',
      runs.map((run) => ({ id: run.id, events: feed.get(run.id) ?? [] })),
    ),
    none(
      'feed: runs whose number is not their last event',
      runs.filter((run) => run.last_seq !== (feed.get(run.id)?.at(-1)?.seq ?? 0)).map(ofId),
    ),
  ];
}

/** Gaps, repeats and breaks of the order in what should count 1, 2, 3 … */
function sequenceLines(prefix: string, sequences: { id: string; events: readonly FeedEvent[] }[]): Line[] {
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
    none(`${prefix}gaps`, gaps),
    none(`${prefix}repeats`, repeats),
    none(`${prefix}order breaks`, breaks),
  ];
}

function viewers({ viewers: all, feed }: Books): Line[] {
  const name = (viewer: Books['viewers'][number]) => `${viewer.executionId} by ${viewer.client}`;
  return [
    figure(
      'viewers: connections',
      all.reduce((sum, { connections }) => sum + connections, 0),
      `of ${all.length} viewers`,
    ),
    some('viewers: came back', all.filter(({ connections }) => connections > 1).length),
    ...sequenceLines(
      'viewers: ',
      all.map((viewer) => ({ id: name(viewer), events: viewer.events })),
    ),
    none(
      'viewers: events that differ from the table',
      all.flatMap((viewer) => {
        const table = new Map((feed.get(viewer.executionId) ?? []).map((event) => [event.seq, event]));
        return viewer.events
          .filter((event) => !isSameEvent(event, table.get(event.seq)))
          .map(({ seq }) => `${name(viewer)} ${seq}`);
      }),
    ),
    none(
      'viewers: never saw the end',
      all.filter(({ events }) => !events.some(({ type }) => type === 'run.ended')).map(name),
    ),
  ];
}

function isSameEvent(one: FeedEvent, other: FeedEvent | undefined): boolean {
  const textOf = ({ type, at, data, execution_id: id }: FeedEvent) => JSON.stringify([type, at, data, id]);
  return other !== undefined && textOf(one) === textOf(other);
}

function callbacks({ tasks, runs, callbacks: { log, arrivals } }: Books): Line[] {
  const secrets = new Map(tasks.flatMap((task) => task.ids.map((id) => [id, task.secret] as const)));
  const logged = groupBy(log, ({ execution_id: id }) => id);
  const arrived = groupBy(arrivals, ({ delivery }) => delivery);
  const wanting = runs.filter(
    (run) => run.has_callback && isTerminal(run.state) && run.state !== 'cancelled',
  );
  const isSettled = (run: RunRow) => {
    const rows = logged.get(run.id) ?? [];
    const answered = rows.some(({ response_status: status }) => isGood(status));
    return answered
      ? run.callback_status === 'delivered'
      : rows.length === MOST_CALLBACKS && run.callback_status === 'failed';
  };
  return [
    figure('callbacks: requests that arrived', arrivals.length, `of ${wanting.length} runs`),
    some('callbacks: delivered', wanting.filter((run) => run.callback_status === 'delivered').length),
    none('callbacks: beyond 3', [
      ...[...logged].filter(([, rows]) => rows.length > MOST_CALLBACKS).map(([id]) => `${id} in the log`),
      ...[...arrived]
        .filter(([, requests]) => requests.length > MOST_CALLBACKS)
        .map(([id]) => `${id} on the wire`),
    ]),
    none(
      'callbacks: never sent, or given up before the third attempt',
      wanting.filter((run) => !isSettled(run)).map(ofId),
    ),
    none(
      'callbacks: of cancelled runs',
      runs
        .filter((run) => run.state === 'cancelled' && (arrived.has(run.id) || logged.has(run.id)))
        .map(ofId),
    ),
    none(
      'callbacks: after one that was answered 2xx',
      [...logged]
        .filter(([, rows]) => rows.slice(0, -1).some(({ response_status: status }) => isGood(status)))
        .map(([id]) => id),
    ),
    none(
      'callbacks: log rows that disagree with the receiver',
      [...new Set([...logged.keys(), ...arrived.keys()])].filter(
        (id) => !agree(logged.get(id) ?? [], arrived.get(id) ?? []),
      ),
    ),
    ...wireLines('callbacks: ', arrivals, (arrival) => secrets.get(arrival.delivery) ?? null),
    none(
      'callbacks: that tell another end than the run had',
      runs
        .filter((run) =>
          (arrived.get(run.id) ?? []).some(({ body }) => JSON.parse(body).status !== run.state),
        )
        .map(ofId),
    ),
  ];
}

/** Each answer in the log was given, and nothing arrived that the log does not know of. */
function agree(rows: readonly { response_status: number | null }[], arrivals: readonly Arrival[]): boolean {
  const given = (status: number) => arrivals.filter(({ answered }) => answered === status).length;
  const statuses = new Set(rows.flatMap(({ response_status: status }) => status ?? []));
  const isGiven = [...statuses].every(
    (status) => rows.filter(({ response_status: one }) => one === status).length <= given(status),
  );
  return isGiven && arrivals.length <= rows.length;
}

/** Signatures and bytes on the wire. A secret of null is not known: its caller never had the answer. */
export function wireLines(
  prefix: string,
  arrivals: readonly Arrival[],
  secretOf: (arrival: Arrival) => string | null,
): Line[] {
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
    none(`${prefix}signatures that do not verify`, forged),
    none(`${prefix}bodies that differ between attempts`, [...differing]),
  ];
}

export function isGood(status: number | null): boolean {
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

function ofId({ id }: { id: string }): string {
  return id;
}
