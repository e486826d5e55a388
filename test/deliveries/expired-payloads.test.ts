import assert from 'node:assert/strict';
import { MockActivityEnvironment } from '@temporalio/testing';
import { createDispatchActivities } from '../../src/activities/deliveries/dispatch.ts';
import { createFirstAttempts } from '../../src/activities/deliveries/first-attempts.ts';
import { createDeliveryStore } from '../../src/database/webhooks/delivery-store.ts';
import { markUnsent } from '../../src/database/webhooks/dispatch.ts';
import { useReceiver } from '../support/callback-receiver.ts';
import { useDeliveries } from '../support/deliveries.ts';
import { eventually } from '../support/eventually.ts';

const REASON = 'the payload was deleted after its retention period';

describe('a delivery with an expired payload', function () {
  const world = useDeliveries();
  const receiver = useReceiver('each test');

  const execute = (statement: string, webhookId: string) =>
    world.database.em.fork().execute(statement, [webhookId]);

  /** Stores three deliveries with these columns, and deletes the payloads of the first two. */
  async function deliveries(state: string) {
    const webhookId = await world.webhook({ url: receiver.url });
    await world.publish([{}, {}, {}]);
    await eventually('delivered', async () => {
      const rows = await world.deliveries(webhookId);
      return rows.length === 3 && rows.every(({ status }) => status === 'succeeded');
    });
    await execute(`update deliveries set ${state} where webhook_id = ?`, webhookId);
    const rows = await world.deliveries(webhookId);
    await execute(
      `update events set body = null where seq in (
        select event_seq from deliveries where webhook_id = ? order by event_seq limit 2)`,
      webhookId,
    );
    return { webhookId, rows, sent: receiver.requests.length };
  }

  const outcomes = async (webhookId: string) =>
    (await world.deliveries(webhookId)).map(({ status, reason }) => [status, reason]);
  const CANCELLED = ['cancelled', REASON];

  it('is cancelled in the backlog of its webhook, which continues with the next delivery', async () => {
    const { webhookId, sent } = await deliveries("status = 'pending', in_backlog = true");
    await world.control.drainBacklog(webhookId);
    const handle = world.client.workflow.getHandle(`backlog:${webhookId}`);
    await handle.result();
    assert.deepEqual(await outcomes(webhookId), [CANCELLED, CANCELLED, ['succeeded', null]]);
    assert.equal(receiver.requests.length, sent + 1);
    const { historyLength } = await handle.describe();
    assert.ok(historyLength < 50, `${historyLength} events`);
  });

  it('is cancelled instead of sent by its group, a test or a manual retry', async () => {
    const { webhookId, rows } = await deliveries(
      "status = 'pending', attempts_count = 0, created_at = now() - interval '1 minute'",
    );
    const [first, second] = rows;
    assert.ok(first && second);
    const store = createDeliveryStore(world.database);
    const attempt = () => assert.fail('there is nothing to send');
    const { finishGroup } = createDispatchActivities({
      store,
      firstAttempts: createFirstAttempts({ store, attempt, control: world.control }),
      webhookLoader: { loadForGroups: async () => new Map(), loadCurrent: () => assert.fail(), forget() {} },
      engineTime: async () => Date.now(),
    });
    await new MockActivityEnvironment().run(finishGroup, { groupId: first.id, ids: [first.id] });
    await world.control.attemptAndWait({
      deliveryId: second.id,
      trigger: 'test',
      token: `test-${second.id}`,
    });
    assert.deepEqual(await outcomes(webhookId), [CANCELLED, CANCELLED, ['pending', null]]);
  });

  it('stays unchanged if its schedule was restarted after it was read', async () => {
    const { webhookId, rows } = await deliveries("status = 'pending', in_backlog = true");
    await execute('update deliveries set generation = 1 where webhook_id = ?', webhookId);
    const [first, second, third] = rows;
    assert.ok(first && second && third);
    await markUnsent(world.database, [first, { ...second, generation: 1 }], 'held', 'a reason', new Date());
    assert.deepEqual(await outcomes(webhookId), [
      ['pending', null],
      ['held', 'a reason'],
      ['pending', null],
    ]);
  });
});
