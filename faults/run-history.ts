import type { TaskState } from '../src/domain/tasks/task-states.ts';
import type { Model, Operation } from './linearizability.ts';
import type { CallerRequest, ViewerRecord } from './records.ts';

/*
 * What callers and viewers of one run observed, as histories for the checker, and the models that they are compared
 * with. The table of states is repeated here from the specification, so that a mistake in the table of the service is
 * found.
 */

/** What one operation did or showed. */
export type RunInput =
  | { kind: 'pause' | 'continue' | 'cancel' }
  /** A response with a state and the number of events that the state corresponds to. */
  | { kind: 'read'; state: TaskState; seq: number }
  /** A 409: the run had ended. `except`: not in this state. */
  | { kind: 'refused'; except: TaskState | null };

/** `seq`: of the last response that was read. `changes`: the changes of the state since then. */
export type RunModelState = {
  state: TaskState;
  pausedFrom: TaskState | null;
  seq: number;
  changes: number;
  questionsLeft: number;
};

/** The changes that a run makes by itself. */
const OWN_CHANGES: Readonly<Record<TaskState, readonly TaskState[]>> = {
  initializing: ['planning', 'failed'],
  planning: ['executing', 'failed'],
  executing: ['completed', 'escalated', 'failed'],
  paused: ['failed'],
  completed: [],
  escalated: [],
  failed: [],
  cancelled: [],
};
const ENDS: ReadonlySet<TaskState> = new Set(['completed', 'escalated', 'failed', 'cancelled']);

/** Returns the model of a run that asks this number of questions, each of which pauses it. */
export function runModel(questions: number): Model<RunModelState, RunInput> {
  return {
    initial: { state: 'initializing', pausedFrom: null, seq: 0, changes: 0, questionsLeft: questions },
    keyOf: ({ state, pausedFrom, seq, changes, questionsLeft }) =>
      `${state} ${pausedFrom} ${seq} ${changes} ${questionsLeft}`,
    next: (state, input) => withOwnChanges(state).flatMap((reached) => apply(reached, input)),
  };
}

/** Returns the state, and the states that the run may reach from it by itself. */
function withOwnChanges(from: RunModelState): RunModelState[] {
  const changed = OWN_CHANGES[from.state].map((state) => ({ ...from, state, changes: from.changes + 1 }));
  if (from.state === 'executing' && from.questionsLeft > 0) {
    changed.push({ ...pause(from), questionsLeft: from.questionsLeft - 1 });
  }
  return [from, ...changed.flatMap(withOwnChanges)];
}

function pause(from: RunModelState): RunModelState {
  return { ...from, state: 'paused', pausedFrom: from.state, changes: from.changes + 1 };
}

function apply(from: RunModelState, input: RunInput): RunModelState[] {
  const isEnded = ENDS.has(from.state);
  switch (input.kind) {
    case 'pause':
      return [isEnded || from.state === 'paused' ? from : pause(from)];
    case 'continue':
      return continued(from);
    case 'cancel':
      if (isEnded) return from.state === 'cancelled' ? [from] : [];
      return [{ ...from, state: 'cancelled', changes: from.changes + 1 }];
    case 'refused':
      return isEnded && from.state !== input.except ? [from] : [];
    case 'read':
      return from.state === input.state && isReached(from, input.seq)
        ? [{ ...from, seq: input.seq, changes: 0 }]
        : [];
  }
}

function continued(from: RunModelState): RunModelState[] {
  if (from.state !== 'paused' || from.pausedFrom === null) return [from];
  const active = { ...from, state: from.pausedFrom, pausedFrom: null };
  const recorded = { ...active, changes: from.changes + 1 };
  // A pause that was lifted before it was recorded leaves no event.
  return from.changes > 0 ? [recorded, { ...active, changes: from.changes - 1 }] : [recorded];
}

/** Each change of the state is at least one event. There may be events without a change. */
function isReached({ seq, changes }: RunModelState, read: number): boolean {
  return changes === 0 ? read >= seq : read >= seq + changes;
}

const READS: ReadonlySet<CallerRequest['operation']> = new Set(['poll', 'pause', 'continue', 'cancel']);

/** Returns the history of the requests about a run after its submission. */
export function runHistory(requests: readonly CallerRequest[]): Operation<RunInput>[] {
  return requests.flatMap((request) => [...effectOf(request, requests), ...responseOf(request)]);
}

function effectOf(request: CallerRequest, requests: readonly CallerRequest[]): Operation<RunInput>[] {
  const { operation, sentAt, receivedAt, status, state } = request;
  if (operation === 'submit' || operation === 'poll' || status === 409 || status === 429) return [];
  const isCertain = status === 202;
  // The response waits until the run shows the command, but not forever.
  const isShown = isCertain && state !== undefined && SHOWN[operation](request, requests);
  const returnedAt = isShown ? (receivedAt ?? Infinity) : Infinity;
  return [{ input: { kind: operation }, calledAt: sentAt, returnedAt, isCertain }];
}

/** Returns whether the state in the response proves that the command had taken effect. */
const SHOWN: Readonly<
  Record<'pause' | 'continue' | 'cancel', (response: CallerRequest, all: readonly CallerRequest[]) => boolean>
> = {
  pause: ({ state }) => state === 'paused',
  continue: (response, all) => response.state !== 'paused' && wasSeenPaused(response, all),
  cancel: ({ state }) => state === 'cancelled',
};

/**
 * Returns whether the caller had seen the run paused since its last pause when it sent this request. Otherwise the run
 * may still be about to pause, and only then to continue.
 */
function wasSeenPaused({ sentAt }: CallerRequest, requests: readonly CallerRequest[]): boolean {
  const pauses = requests.filter((request) => request.operation === 'pause' && request.sentAt < sentAt);
  const lastPauseAt = Math.max(0, ...pauses.map((request) => request.sentAt));
  return requests.some(
    (request) =>
      request.state === 'paused' &&
      request.sentAt >= lastPauseAt &&
      (request.receivedAt ?? Infinity) <= sentAt,
  );
}

function responseOf(request: CallerRequest): Operation<RunInput>[] {
  const { operation, sentAt: calledAt, receivedAt, status, state, lastSeq } = request;
  if (!READS.has(operation) || receivedAt === null) return [];
  const times = { calledAt, returnedAt: receivedAt, isCertain: true };
  if (status === 409 && operation !== 'continue') {
    return [{ input: { kind: 'refused', except: operation === 'cancel' ? 'cancelled' : null }, ...times }];
  }
  if (state === undefined || lastSeq === undefined) return [];
  return [{ input: { kind: 'read', state, seq: lastSeq }, ...times }];
}

/** `received`: a viewer received the event with this `seq`. */
export type FeedInput =
  | { kind: 'received'; seq: number; client: string }
  | { kind: 'read'; state: TaskState; seq: number };

/** Events about work in progress or a callback. They do not change the detail of a run. */
const NOT_IN_DETAIL: ReadonlySet<string> = new Set(['step.progress', 'agent.message', 'callback.attempted']);

/**
 * Returns the history of a feed: the changes that the viewers of a run received, and what callers read. The feed only
 * grows. A change that a viewer has received is contained in every later response, from any process.
 */
export function feedHistory(
  requests: readonly CallerRequest[],
  viewers: readonly ViewerRecord[],
): Operation<FeedInput>[] {
  const reads = requests
    .flatMap(responseOf)
    .flatMap(({ input, ...times }) => (input.kind === 'read' ? { input, ...times } : []));
  const received = viewers.flatMap(({ events, receivedAt, client }) =>
    events.flatMap(({ seq, type }, index) => {
      if (NOT_IN_DETAIL.has(type)) return [];
      const input = { kind: 'received' as const, seq, client };
      const [calledAt, returnedAt] = [receivedAt[index - 1] ?? 0, receivedAt[index] ?? Infinity];
      return { input, calledAt, returnedAt, isCertain: true };
    }),
  );
  return [...reads, ...received];
}

/** Returns the model of a feed: its length, and the state after each event that a viewer has received. */
export function feedModel(viewers: readonly ViewerRecord[]): Model<number, FeedInput> {
  const states: TaskState[] = ['initializing'];
  const longest = viewers.toSorted((one, other) => other.events.length - one.events.length)[0];
  for (const { seq, type, data } of longest?.events ?? []) {
    if (seq !== states.length) break;
    states.push(type === 'state.changed' ? (data['to'] as TaskState) : (states.at(-1) ?? 'initializing'));
  }
  return {
    initial: 0,
    keyOf: String,
    next(length, input) {
      if (input.kind === 'received') return [Math.max(length, input.seq)];
      const known = states[input.seq];
      return input.seq >= length && (known === undefined || known === input.state) ? [input.seq] : [];
    },
  };
}
