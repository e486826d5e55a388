import type { Logger } from 'pino';
import { createStartQueue } from '../../domain/common/start-queue.ts';
import type { RunToStart, TaskControl } from '../../temporal/task-control.ts';
import { createStarter, type Starter } from '../starter.ts';

/** Maximum number of starts in progress. More would only wait for each other in Temporal. */
const CONCURRENT_STARTS = 64;

/** Creates the starter of the process's runs: one workflow for each. */
export function createRunStarter(control: Pick<TaskControl, 'start'>, log: Logger): Starter<RunToStart> {
  return createStarter<RunToStart>({
    start: async ([run]) => void (await control.start(run)),
    concurrency: CONCURRENT_STARTS,
    queue: createStartQueue({ batch: 1, restMs: 0 }),
    what: 'runs',
    log,
  });
}
