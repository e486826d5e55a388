import assert from 'node:assert/strict';
import { dispatchWorkflowId } from '../../src/temporal/delivery-messages.ts';
import { eventually } from '../support/eventually.ts';
import { assertLogMatches, countDuplicates, pairsOf } from './delivery-log.ts';
import { printMetrics, seconds } from './metrics.ts';
import { publishTogether } from './publishers.ts';
import { groupsOf, logOf, untilRecorded, useEndpoints } from './service-webhooks.ts';
import { activityWorkers } from './activity-workers.ts';

/** More than the ten that are sent to one webhook in parallel. */
const EVENTS = 30;
const AT_ONCE = 10;
/** An attempt of the killed worker is repeated when it can no longer be running, 36 s after its start. */
const TIMEOUT_MS = 120_000;

describe('a delivery worker that is killed while a receiver hangs', function () {
  this.timeout(300_000);
  const { service, endpoints } = useEndpoints(2);

  it('is replaced by another one, which repeats its attempts with the same delivery ids', async () => {
    const { deliveryWorker, secondDeliveryWorker } = service;
    const [hanging, good] = endpoints.map(({ receiver }) => receiver);
    assert.ok(hanging && good);
    hanging.hanging();
    const prefix = 'takeover-';
    await publishTogether(service, prefix, EVENTS);
    await Promise.all([hanging.receives(AT_ONCE), good.receives(EVENTS)]);
    await untilWaitedForBy(deliveryWorker.pid(), prefix);
    await deliveryWorker.kill();
    const killedAt = Date.now();
    hanging.answering(204);
    await secondDeliveryWorker.start();
    await hanging.receives(AT_ONCE + 1, TIMEOUT_MS);
    const firstAt = Date.now();
    await hanging.receives(AT_ONCE + EVENTS, TIMEOUT_MS);
    await untilRecorded(service, prefix);
    const tookMs = Date.now() - killedAt;
    assertLogMatches(endpoints, await logOf(service, endpoints));
    assert.deepEqual(countDuplicates(endpoints), { pairs: 2 * EVENTS, duplicates: AT_ONCE });
    const twice = [...pairsOf(endpoints).values()].filter(({ requests }) => requests.length > 1);
    assert.equal(twice.length, AT_ONCE);
    assert.ok(twice.every(({ webhookId }) => webhookId === endpoints[0]?.id));
    printMetrics({
      'the backlog continues after': seconds(firstAt - killedAt),
      'all attempts of the dead worker are repeated after': seconds(tookMs),
    });
  });

  /** Waits until an activity of this process waits for the group's attempts. */
  async function untilWaitedForBy(pid: number, prefix: string): Promise<void> {
    const ids = (await groupsOf(service, prefix)).map(dispatchWorkflowId);
    assert.equal(ids.length, 1);
    await eventually(
      'the worker waits for the attempts',
      async () => (await activityWorkers(service, ids)).get(ids[0] ?? '') === pid,
    );
  }
});
