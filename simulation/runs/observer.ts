import { openQuestionOf, type ContinueRequest } from '../../src/domain/tasks/run-state.ts';
import { isTerminal, type TaskState } from '../../src/domain/tasks/task-states.ts';
import type { StepWork } from '../../src/domain/tasks/step-work.ts';
import type { Report } from '../invariants/guarantees.ts';
import type { Commit } from '../store/memory-store.ts';
import type { Clock } from '../world/clock.ts';
import type { Rehearsal } from '../../src/domain/tasks/rehearsal.ts';
import type { Answer } from './callers.ts';
import { eventsOf, type EventRow, type RunRow, type RunTables } from './store/tables.ts';

/** Which states may follow each state, according to the specification. */
const FOLLOWS: Readonly<Record<TaskState, readonly TaskState[]>> = {
  initializing: ['planning', 'paused', 'failed', 'cancelled'],
  planning: ['executing', 'paused', 'failed', 'cancelled'],
  executing: ['completed', 'failed', 'escalated', 'paused', 'cancelled'],
  paused: ['initializing', 'planning', 'executing', 'failed', 'cancelled'],
  completed: [],
  failed: [],
  cancelled: [],
  escalated: [],
};

/** Attempts of a step. */
const STEP_ATTEMPTS = 3;
/** Longest time from an accepted request to its effect while nothing fails, in milliseconds. */
export const EFFECT_MS = 4_000;

/** What was seen of a run. `feedState`: after its last event. `final`: what must not change after its end. */
type Seen = {
  events: number;
  keys: Set<string>;
  feedState: TaskState;
  /** The ids of the steps that the feed reports as completed. */
  completed: Set<string>;
  /** How often it has asked a question. By its script, it has at most one. */
  questions: number;
  /** Whether a request or a question has paused it. */
  isPaused: boolean;
  final: string | null;
  /** The values of the row and the number of events at the last check. */
  values: unknown[];
};

/** Columns that must not change after the end of a run. */
const CHECKED = [
  'state',
  'completed_at',
  'started_at',
  'duration_ms',
  'output',
  'errors',
  'escalation',
  'steps',
  'callback_body',
] as const satisfies readonly (keyof RunRow)[];

type Dependencies = {
  clock: Clock;
  tables: RunTables;
  /** The time after which nothing fails any more. */
  faultsUntil: number;
  /** Called when a run asks a question. */
  onQuestion: (id: string) => void;
  report: Report;
};

/** Checks every change of a run and every response to its callers, and reports violations of guarantees. */
export function createRunObserver({ clock, tables, faultsUntil, onQuestion, report }: Dependencies) {
  const seen = new Map<string, Seen>();
  const accepted = new Set<string>();
  const idOfKey = new Map<string, string>();
  const cancelledAt = new Map<string, number>();
  const continuedAt = new Map<string, number>();
  /** Questions of runs to which the engine has accepted an answer. */
  const answered = new Set<string>();
  const questionOf = (id: string, question: string | null) => `${id} ${question}`;
  const changedInTemporal = new Set<string>();
  /** Runs with a repeated workflow task: it may have received messages that the first try did not. */
  const repeated = new Set<string>();
  /** The highest `last_seq` that a caller was shown, and when. */
  const shown = new Map<string, { seq: number; at: number }[]>();

  const seenOf = (id: string): Seen => {
    const known = seen.get(id) ?? {
      events: 0,
      keys: new Set<string>(),
      completed: new Set<string>(),
      questions: 0,
      feedState: 'initializing' as const,
      isPaused: false,
      final: null,
      values: [],
    };
    seen.set(id, known);
    return known;
  };

  function checkEvent(row: RunRow, known: Seen, event: EventRow): void {
    const { id } = row;
    known.events += 1;
    if (event.seq !== known.events) report('seq', `event ${known.events} of ${id} has the seq ${event.seq}`);
    if (known.keys.has(event.key)) report('seq', `the feed of ${id} contains ${event.key} twice`);
    known.keys.add(event.key);
    const hasEnded = isTerminal(known.feedState);
    if (event.type === 'state.changed') checkChange(row, known, event);
    else if (event.type === 'step.started' && known.isPaused)
      report('pause', `${event.key} of ${id} was recorded during a pause`);
    else if (event.type === 'step.failed') checkFailure(row, event);
    else if (event.type === 'step.completed') known.completed.add((event.data['step'] as { id: string }).id);
    else if (event.type === 'run.ended' && !isTerminal(event.data['state'] as TaskState))
      report('end', `${id} ended as ${String(event.data['state'])}`);
    if (hasEnded && event.type !== 'callback.attempted' && event.type !== 'run.ended')
      report('end', `${event.key} of ${id} follows its end`);
  }

  /** A step fails by its script, or by its time limit. The end of its worker does not count. */
  function checkFailure({ id }: RunRow, { key, data }: EventRow): void {
    const { message } = data['error'] as { message: string };
    if (!/is scripted to|took longer than/.test(message)) report('step', `${key} of ${id}: ${message}`);
  }

  function checkChange({ id }: RunRow, known: Seen, { key, data }: EventRow): void {
    const { from, to } = data as { from: TaskState; to: TaskState };
    if (data['question'] !== undefined) {
      known.questions += 1;
      onQuestion(id);
    }
    if (!repeated.has(id) && known.questions > 1) report('control', `${id} asks again what was answered`);
    if (!FOLLOWS[from].includes(to)) report('end', `${id} went from ${from} to ${to}`);
    if (!repeated.has(id) && !changedInTemporal.has(id) && from !== known.feedState)
      report('end', `${id} went from ${from} to ${to}, although it was ${known.feedState}`);
    known.feedState = to;
    if (key.startsWith('state:')) known.isPaused = to === 'paused';
  }

  function checkRow(row: RunRow, name: string): void {
    const known = seenOf(row.id);
    const events = eventsOf(tables, row.id);
    // Every write replaces the values of its columns.
    const values = [events.length, row.last_seq, ...CHECKED.map((column) => row[column])];
    if (values.every((value, index) => value === known.values[index])) return;
    known.values = values;
    for (const event of events.slice(known.events)) checkEvent(row, known, event);
    for (const id of known.completed)
      if (row.steps.find((step) => step.id === id)?.status !== 'completed')
        report('step', `a step of ${row.id} was reported as completed, but is not after ${name}`);
    if (row.last_seq !== known.events) report('seq', `last_seq of ${row.id} is ${row.last_seq}`);
    if (row.completed_at === null) {
      if (isTerminal(row.state)) report('end', `${row.id} is ${row.state} without an end`);
      return;
    }
    const final = JSON.stringify(CHECKED.map((column) => row[column]));
    if (known.final === null) checkEnd(row, known);
    else if (known.final !== final) report('end', `${name} changed ${row.id} after its end`);
    known.final = final;
  }

  function checkEnd({ id, state, metadata, steps }: RunRow, { keys }: Seen): void {
    if (!keys.has('run.ended')) report('end', `${id} has ended without an event`);
    if (changedInTemporal.has(id)) return;
    const since = cancelledAt.get(id);
    const expected = endOf((JSON.parse(metadata) as { rehearsal: Rehearsal }).rehearsal);
    if (state !== expected && !(state === 'cancelled' && since !== undefined))
      report('accepted', `${id} ended as ${state}, not as ${expected}`);
    if (state === 'completed' && steps.some(({ status }) => status !== 'completed'))
      report('accepted', `${id} is completed, but its steps are not`);
    if (since === undefined || state === 'cancelled') return;
    if (since > faultsUntil && clock.now() - since > EFFECT_MS)
      report('control', `${id} was cancelled, but has ended as ${state} later`);
  }

  /** A response must show a state that the feed contains, and no older one than an earlier response. */
  function checkShown({ executionId: id, state, lastSeq, sentAt }: Answer): void {
    if (state === null || lastSeq === null) return;
    const events = eventsOf(tables, id);
    if (lastSeq > events.length) report('committed', `a response of ${id} shows event ${lastSeq}`);
    const isChange = ({ type }: EventRow) => type === 'state.changed';
    const change = events.slice(0, lastSeq).findLast(isChange);
    // After a repeated workflow task, a state may come with the number of an earlier event of the same task.
    const later = events.slice(lastSeq).filter(isChange);
    const known = new Set([change?.data['to'] ?? 'initializing', ...later.map(({ data }) => data['to'])]);
    if (!known.has(state) && !changedInTemporal.has(id))
      report(
        'committed',
        `a response shows ${id} as ${state} after event ${lastSeq}, which its feed does not`,
      );
    const earlier = shown.get(id) ?? [];
    const newest = Math.max(0, ...earlier.filter(({ at }) => at <= sentAt).map(({ seq }) => seq));
    if (lastSeq < newest) report('committed', `a response of ${id} shows event ${lastSeq} after ${newest}`);
    shown.set(id, [...earlier, { seq: lastSeq, at: clock.now() }]);
  }

  function checkSubmission({ executionId: id, key, status }: Answer): void {
    if (status !== 201) return;
    accepted.add(id);
    if (!tables.runs.has(id)) report('accepted', `${id} was accepted, but is not stored`);
    if (key === null) return;
    const first = idOfKey.get(key) ?? id;
    if (first !== id) report('idempotency', `${key} created ${first} and ${id}`);
    idOfKey.set(key, first);
  }

  function checkControl({ operation, executionId: id, status, state, sentAt }: Answer): void {
    const row = tables.runs.get(id);
    if (changedInTemporal.has(id)) return;
    if (status === 409 && operation !== 'continue' && !row?.completed_at)
      report('control', `${operation} of ${id} was refused, although it has not ended`);
    if (status !== 202) return;
    const isEnded = isTerminal(state as TaskState);
    const wasContinued = (continuedAt.get(id) ?? 0) >= sentAt;
    if (operation === 'pause' && state !== 'paused' && !isEnded && sentAt > faultsUntil && !wasContinued)
      report('control', `${id} was paused, but is ${state}`);
    if (operation === 'cancel' && isEnded && state !== 'cancelled')
      report('control', `${id} was cancelled, but is ${state}`);
  }

  return {
    /** Runs the step of a transaction and checks all runs after it. */
    around({ name }: Omit<Commit, 'result'>, step: () => unknown): unknown {
      const result = step();
      for (const row of tables.runs.values()) checkRow(row, name);
      return result;
    },

    onAnswer(answer: Answer): void {
      if (answer.operation === 'submit') return checkSubmission(answer);
      checkShown(answer);
      if (answer.operation !== 'read' && answer.operation !== 'retry') checkControl(answer);
    },

    /** The engine has accepted a signal of a caller. */
    onSignal(id: string, name: string, request: unknown): void {
      if (name === 'cancel' && !cancelledAt.has(id)) cancelledAt.set(id, clock.now());
      if (name !== 'continue') return;
      continuedAt.set(id, clock.now());
      answered.add(questionOf(id, (request as ContinueRequest).question ?? null));
    },

    onRepeat: (id: string) => void repeated.add(id),

    /** An operator has changed a run in the Web UI. */
    onOperation: (id: string) => void changedInTemporal.add(id),
    wasChangedInTemporal: (id: string) => changedInTemporal.has(id),

    /** An activity begins to work on a step. */
    onStep({ executionId, step }: StepWork): void {
      const isDone = eventsOf(tables, executionId).some(({ key }) =>
        key.startsWith(`step.completed:${step.id}:`),
      );
      if (isDone) report('step', `${step.name} of ${executionId} is repeated, although it is completed`);
    },

    /** Checks that every cancelled run has ended, although nobody has continued it, and that no run asks what was answered. */
    onLastRequests(): void {
      for (const row of tables.runs.values()) {
        const open = row.completed_at || row.engine_paused_at ? null : openQuestionOf(row);
        if (open !== null && answered.has(questionOf(row.id, open)))
          report('control', `the question ${open} of ${row.id} was answered, but is still open`);
      }
      for (const id of cancelledAt.keys()) {
        const row = tables.runs.get(id);
        if (row && !row.completed_at && !row.engine_paused_at)
          report('control', `${id} was cancelled, but is ${row.state}`);
      }
    },

    /** Checks what must hold once nothing is left to do. */
    onEnd(isQuiet: boolean, left: string): void {
      if (!isQuiet) report('accepted', `there is still work after the end: ${left}`);
      for (const id of accepted)
        if (!tables.runs.get(id)?.completed_at) report('accepted', `${id} has no end`);
    },
  };
}

/** Returns how a run ends by its script, if nobody cancels it. */
function endOf({ unrecoverable, escalate, fail }: Rehearsal): TaskState {
  if (unrecoverable) return 'failed';
  if (escalate) return 'escalated';
  return fail && fail.times >= STEP_ATTEMPTS ? 'failed' : 'completed';
}
