import assert from 'node:assert/strict';
import { isTerminal } from '../../src/domain/tasks/task-states.ts';
import { eventually } from '../support/eventually.ts';
import { printMetrics, seconds } from './metrics.ts';
import { briefScripts, mixedScripts } from './mixed-tasks.ts';
import {
  assertAllDelivered,
  longestPause,
  submitAll,
  untilInProgress,
  untilSettled,
} from './service-runs.ts';
import { activityWorkers } from './activity-workers.ts';
import { useService } from './shared-service.ts';

const MANY = 200;

describe('a large number of runs', function () {
  this.timeout(300_000);
  const { service, receiver } = useService();

  it('continues on the other worker if one of two is killed', async () => {
    const { worker, secondWorker } = service;
    await secondWorker.start();
    const accepted = await submitAll(service, receiver, mixedScripts(20));
    const orphaned = await eventually('the worker has running steps', async () => {
      const running = await untilInProgress(service, accepted);
      const workers = await activityWorkers(
        service,
        running.map((run) => run.execution_id),
      );
      const its = [...workers].filter(([, pid]) => pid === worker.pid()).map(([id]) => id);
      return its.length > 0 && its;
    });
    await worker.kill();
    const killedAt = Date.now();
    await untilSettled(service, accepted);
    const settledAt = Date.now();
    await assertAllDelivered(service, receiver, accepted);
    const pause = await longestPause(service, orphaned, killedAt);
    printMetrics({
      'runs with a step on the killed worker': orphaned.length,
      'slowest of them continues after': seconds(pause),
      'all settled after the kill': seconds(settledAt - killedAt),
    });
  });

  it('submitted at once ends with one result and one callback each', async () => {
    const began = Date.now();
    const accepted = await submitAll(service, receiver, briefScripts(MANY));
    const submittedAt = Date.now();
    const runs = await untilSettled(service, accepted);
    const settledAt = Date.now();
    assert.equal(runs.length, MANY);
    assert.ok(runs.every((run) => isTerminal(run.state)));
    await assertAllDelivered(service, receiver, accepted);
    assert.equal(receiver.requests.length, MANY, 'no callback was sent twice');
    printMetrics({
      'all accepted after': seconds(submittedAt - began),
      'all ended and called back after': seconds(settledAt - began),
    });
  });
});
