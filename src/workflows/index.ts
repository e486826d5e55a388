/** Everything a worker that runs workflows must know; the entry of the workflow bundle. */
export { taskCallback } from './task-callback.ts';
export { taskRun } from './task-run.ts';
