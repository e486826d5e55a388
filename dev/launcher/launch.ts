import type { ChildrenRecord } from './leftovers.ts';
import type { Progress } from '../common/progress.ts';
import type { Shutdown } from './shutdown.ts';

/** What the parts of one start share. */
export type Launch = {
  progress: Progress;
  shutdown: Shutdown;
  children: ChildrenRecord;
  /** How to end what has been started, in the order of starting; ended from the last to the first. */
  stops: (() => Promise<unknown> | void)[];
  /** Called whenever a child has a new process id. */
  onRestarted: () => void;
};
