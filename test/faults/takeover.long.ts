import assert from 'node:assert/strict';
import { isTerminal } from '../../src/domain/tasks/task-states.ts';
import { sayFigures, seconds } from './metrics.ts';
import { briefScripts, mixedScripts } from './mixed-tasks.ts';
import {
  assertDelivered,
  assertEach,
  assertRanOnce,
  longestSilence,
  submitAll,
  untilInTheMiddle,
  untilSettled,
} from './service-runs.ts';
import { workersAtWork } from './activity-workers.ts';
import { useWholeService } from './shared-service.ts';

const MANY = 200;

describe('a crowd of runs', function () {
  this.timeout(300_000);
  const { service, receiver } = useWholeService();

  it('goes on elsewhere when one of two workers is killed', async () => {
    const { worker, secondWorker } = service;
    await secondWorker.start();
    const taken = await submitAll(service, receiver, mixedScripts(20));
    const running = await untilInTheMiddle(service, taken);
    const atWork = await workersAtWork(
      service,
      running.map((run) => run.execution_id),
    );
    await worker.kill();
    const killedAt = Date.now();
    await untilSettled(
      service,
      taken.map(({ id }) => id),
    );
    const settledAt = Date.now();
    await assertEach(taken, async (task) => {
      await assertRanOnce(service, task);
      await assertDelivered(service, receiver, task);
    });
    const orphaned = [...atWork].filter(([, pid]) => pid === worker.pid()).map(([id]) => id);
    assert.ok(orphaned.length > 0, 'the killed worker had work in hand');
    const silence = await longestSilence(service, orphaned, killedAt);
    sayFigures({
      'runs with a step on the killed worker': orphaned.length,
      'slowest of them goes on after': seconds(silence),
      'all settled after the kill': seconds(settledAt - killedAt),
    });
  });

  it('of two hundred, submitted at once, comes to one end each', async () => {
    const began = Date.now();
    const taken = await submitAll(service, receiver, briefScripts(MANY));
    const submittedAt = Date.now();
    const runs = await untilSettled(
      service,
      taken.map(({ id }) => id),
    );
    const settledAt = Date.now();
    assert.equal(runs.length, MANY);
    assert.ok(runs.every((run) => isTerminal(run.state)));
    await assertEach(taken, async (task) => {
      await assertRanOnce(service, task);
      await assertDelivered(service, receiver, task);
    });
    assert.equal(receiver.requests.length, MANY, 'nobody was told twice');
    sayFigures({
      'all taken in': seconds(submittedAt - began),
      'all ended and told': seconds(settledAt - began),
    });
  });
});
