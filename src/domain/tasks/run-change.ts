import type { FeedEntry } from './feed-events.ts';
import type { StoredPlan } from './rerun.ts';
import type { RunView } from './run-schemas.ts';
import type { TaskState } from './task-states.ts';

/** A change of a run: its new state (`view`; null: unchanged) and the events of the change. */
export type RunChange = {
  executionId: string;
  view: Omit<RunView, 'last_seq'> | null;
  entries: FeedEntry[];
  /** The plan, in the change that contains it first. */
  plan?: StoredPlan;
  /** When a pause that was made in the Temporal Web UI began, in the change that records it. ISO 8601. */
  enginePausedAt?: string;
  /** Whether a pause made in the Temporal Web UI is over. */
  enginePauseOver?: boolean;
  /** The history of the workflow when the write began. It is recorded with the result. */
  history?: HistoryLength;
  /** Where the workflow made the change. Without it, the change is never outdated. */
  writer?: Writer;
};

/**
 * The workflow task in which a write began. Another worker may have repeated it since, with signals that it does not know.
 * `runId` is the execution of the workflow, `continuedFrom` the one before it; null: it is the first. `events` is the
 * length of the history: it is longer in each repeat that knows more.
 */
export type Writer = { runId: string; continuedFrom: string | null; events: number };

/** Returns what a run needs a person for from this change on: a decision, an answer, or nothing new. */
export function needOf({ view, entries }: RunChange): 'escalated' | 'asked' | null {
  if (view?.state === 'escalated') return 'escalated';
  if (view?.state !== 'paused' || !view.question) return null;
  return entries.some(({ type, data }) => type === 'state.changed' && data['question']) ? 'asked' : null;
}

/** The length of a workflow's history. `isLong`: whether Temporal suggests to continue as a new execution. */
export type HistoryLength = { events: number; bytes: number; isLong: boolean };

/**
 * Events and bytes of a history from which a run continues as a new execution. Temporal ends an execution at 51,200 events or
 * 50 MB.
 */
const HISTORY_EVENTS = 4_000;
const HISTORY_BYTES = 4 * 1_048_576;

/** Returns the length of a history as a multiple of the length from which a run continues as a new execution. */
export function relativeLength(
  { events, bytes, isLong }: HistoryLength,
  mostEvents: number = HISTORY_EVENTS,
): number {
  const length = Math.max(events / mostEvents, bytes / HISTORY_BYTES);
  return isLong ? Math.max(length, 1) : length;
}

/**
 * `recorded`: written now, or earlier by the same work. `ended`: something else has ended the run, nothing was written.
 * `missing`: the run does not exist. `lastSeq` is the last `seq` of the feed after the change.
 */
export type RecordOutcome =
  | { outcome: 'recorded'; lastSeq: number; history?: HistoryLength }
  | { outcome: 'ended'; state: TaskState; lastSeq: number }
  | { outcome: 'missing' };
