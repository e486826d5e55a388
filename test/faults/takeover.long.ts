import assert from 'node:assert/strict';
import { isTerminal } from '../../src/domain/tasks/task-states.ts';
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

describe('a crowd of runs', function () {
  this.timeout(300_000);
  const { service, receiver } = useService();

  it('goes on elsewhere when one of two workers is killed', async () => {
    const { worker, secondWorker } = service;
    await secondWorker.start();
    const taken = await submitAll(service, receiver, mixedScripts(20));
    const running = await untilInProgress(service, taken);
    const workers = await activityWorkers(
      service,
      running.map((run) => run.execution_id),
    );
    await worker.kill();
    const killedAt = Date.now();
    await untilSettled(service, taken);
    const settledAt = Date.now();
    await assertAllDelivered(service, receiver, taken);
    const orphaned = [...workers].filter(([, pid]) => pid === worker.pid()).map(([id]) => id);
    assert.ok(orphaned.length > 0, 'the killed worker had work in hand');
    const pause = await longestPause(service, orphaned, killedAt);
    printMetrics({
      'runs with a step on the killed worker': orphaned.length,
      'slowest of them goes on after': seconds(pause),
      'all settled after the kill': seconds(settledAt - killedAt),
    });
  });

  it('of two hundred, submitted at once, comes to one end each', async () => {
    const began = Date.now();
    const taken = await submitAll(service, receiver, briefScripts(MANY));
    const submittedAt = Date.now();
    const runs = await untilSettled(service, taken);
    const settledAt = Date.now();
    assert.equal(runs.length, MANY);
    assert.ok(runs.every((run) => isTerminal(run.state)));
    await assertAllDelivered(service, receiver, taken);
    assert.equal(receiver.requests.length, MANY, 'nobody was told twice');
    printMetrics({
      'all taken in': seconds(submittedAt - began),
      'all ended and told': seconds(settledAt - began),
    });
  });
});
