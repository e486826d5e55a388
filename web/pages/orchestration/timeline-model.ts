import type { FeedEvent } from '../../../src/domain/tasks/feed-events.ts';
import type { Step } from '../../../src/domain/tasks/run-schemas.ts';
import { shownStatus } from './words.ts';

/** A time interval in milliseconds since 1970. `to` is null while it lasts. */
export type Interval = { from: number; to: number | null };
/** One attempt of a step. */
export type Attempt = Interval & {
  number: number;
  outcome: 'running' | 'completed' | 'failed' | 'cancelled' | 'escalated';
};

export type Timeline = {
  from: number;
  to: number;
  /** Choosing agents; null before it began. */
  planning: Interval | null;
  /** By the ids of steps. */
  attempts: ReadonlyMap<string, readonly Attempt[]>;
  pauses: readonly Interval[];
};

type TimelineRun = {
  created_at: string;
  started_at: string | null;
  completed_at: string | null;
  steps: readonly Step[];
  escalation: { step: string | null } | null;
};

/** Returns the timeline of a run from the received part of its feed. Open intervals end at `now`. */
export function timelineOf(run: TimelineRun, events: readonly FeedEvent[], now: number): Timeline {
  const from = Date.parse(run.started_at ?? run.created_at);
  const end = run.completed_at === null ? now : Date.parse(run.completed_at);
  return {
    from,
    to: Math.max(end, from + 1),
    planning: intervalsInState(events, 'planning')[0] ?? null,
    attempts: attemptsOf(run, events),
    pauses: intervalsInState(events, 'paused'),
  };
}

/** A part of the time of a run. */
export type Span = Pick<Timeline, 'from' | 'to'>;

/** The time before and after a step that is shown with it, as a share of its own. */
const MARGIN = 0.1;
/** A step that takes more than this share of the run is large enough. */
const MAX_SMALL_SHARE = 0.5;

/** Returns the part of the run with all attempts of a step; null if it is most of the run, or the step did not start. */
export function spanOfStep(timeline: Timeline, stepId: string): Span | null {
  const attempts = timeline.attempts.get(stepId) ?? [];
  const [first] = attempts;
  if (!first) return null;
  const to = Math.max(...attempts.map((attempt) => attempt.to ?? timeline.to));
  const length = Math.max(1, to - first.from);
  if (length > (timeline.to - timeline.from) * MAX_SMALL_SHARE) return null;
  return { from: first.from - length * MARGIN, to: to + length * MARGIN };
}

/** Returns whether any of an interval is in a part of the run. */
export function isIn({ from, to }: Interval, span: Span): boolean {
  return from <= span.to && (to === null || to >= span.from);
}

/** Returns an interval as percentages of the whole, 0 to 100. */
export function shareOf({ from, to }: Interval, whole: Span): { left: number; width: number } {
  const length = whole.to - whole.from;
  const at = (time: number) => Math.min(100, Math.max(0, ((time - whole.from) / length) * 100));
  const left = at(from);
  return { left, width: at(to ?? whole.to) - left };
}

function intervalsInState(events: readonly FeedEvent[], state: string): Interval[] {
  const intervals: Interval[] = [];
  for (const { type, at, data } of events) {
    if (type !== 'state.changed') continue;
    const open = intervals.at(-1);
    if (data['from'] === state && open?.to === null) open.to = Date.parse(at);
    if (data['to'] === state && (open === undefined || open.to !== null))
      intervals.push({ from: Date.parse(at), to: null });
  }
  return intervals;
}

/** Returns the attempts from the feed; without the feed, one attempt from the step itself. */
function attemptsOf(run: TimelineRun, events: readonly FeedEvent[]): Map<string, Attempt[]> {
  const attempts = new Map<string, Attempt[]>();
  for (const event of events) recordAttempt(attempts, event);
  for (const step of run.steps) {
    const known = attempts.get(step.id);
    const last = known?.at(-1);
    if (last?.to === null && step.completed_at !== null) {
      last.to = Date.parse(step.completed_at);
      last.outcome = outcomeOf(step, run);
    }
    if (known || step.started_at === null) continue;
    const to = step.completed_at === null ? null : Date.parse(step.completed_at);
    attempts.set(step.id, [
      { number: step.attempt, from: Date.parse(step.started_at), to, outcome: outcomeOf(step, run) },
    ]);
  }
  return attempts;
}

const OUTCOMES = {
  'step.completed': 'completed',
  'step.failed': 'failed',
  'escalation.requested': 'escalated',
} as const;

function recordAttempt(attempts: Map<string, Attempt[]>, { type, at, data }: FeedEvent): void {
  const step = data['step'] as { id: string; attempt: number } | undefined;
  if (!step) return;
  const known = attempts.get(step.id) ?? [];
  attempts.set(step.id, known);
  const last = known.at(-1);
  if (type === 'step.started' && last?.number !== step.attempt) {
    known.push({ number: step.attempt, from: Date.parse(at), to: null, outcome: 'running' });
  } else if (
    last &&
    (type === 'step.completed' || type === 'step.failed' || type === 'escalation.requested')
  ) {
    last.to = Date.parse(at);
    last.outcome = OUTCOMES[type];
  }
}

function outcomeOf(step: Step, run: TimelineRun): Attempt['outcome'] {
  const status = shownStatus(step, run);
  return status === 'pending' || status === 'skipped' ? 'running' : status;
}
