import type { FeedEntry } from './feed-events.ts';
import type { StoredPlan } from './rerun.ts';
import type { RunView } from './task-run.ts';
import type { TaskState } from './task-states.ts';

/** A change of a run: what it looks like now (`view`, or null to leave it) and the events that tell of it. */
export type RunChange = {
  executionId: string;
  view: Omit<RunView, 'last_seq'> | null;
  entries: FeedEntry[];
  /** The plan, once when it was made. */
  plan?: StoredPlan;
  /** True when a pause made in the Web UI is known to be over. */
  enginePauseOver?: boolean;
};

/**
 * `recorded`: written, or written before by the same work. `ended`: somebody else has ended the run, nothing
 * was written. `missing`: there is no such run. `lastSeq` is the feed's last number after the change.
 */
export type RecordOutcome =
  | { outcome: 'recorded'; lastSeq: number }
  | { outcome: 'ended'; state: TaskState; lastSeq: number }
  | { outcome: 'missing' };
