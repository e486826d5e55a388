import { hideProcess } from '../src/runtime/hide-process.ts';
import { readProcessConfiguration } from '../src/runtime/process-configuration.ts';
import { runProcess } from '../src/runtime/process.ts';
import { installRuntime } from '../src/runtime/temporal.ts';
import { startWorkerProcess } from '../src/runtime/worker-process.ts';
import { deliveryWork } from './delivery-worker.ts';
import { taskWork } from './task-worker.ts';

/*
 * The work of a task worker and of a delivery worker in one process, which needs 85 MB less memory than two. `npm start`
 * runs it. It is for one machine: the two kinds of work share one CPU, and end together.
 */
if (import.meta.main) {
  await runProcess('all-workers', async (log, telemetry) => {
    const configuration = readProcessConfiguration('all-workers', process.env);
    const programs = await hideProcess(configuration);
    installRuntime(log, telemetry);
    const kinds = [taskWork(configuration, programs), deliveryWork()];
    return await startWorkerProcess(kinds, { configuration, log, telemetry });
  });
}
