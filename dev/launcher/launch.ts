import type { ChildrenRecord } from './children-record.ts';
import type { Progress } from '../common/progress.ts';
import type { Setup } from './setup.ts';
import type { Shutdown } from './shutdown.ts';

/** Shared by all parts of a start. */
export type Launch = {
  progress: Progress;
  shutdown: Shutdown;
  children: ChildrenRecord;
  setup: Setup;
  /** Functions that stop what was started, in the order of starting. They are called in reverse order. */
  stops: (() => Promise<unknown> | void)[];
  /** Called whenever a child has a new process id. */
  onRestarted: () => void;
};
