import assert from 'node:assert/strict';
import { renewGroup } from '../../src/database/common/renewed-groups.ts';
import type { Subscription } from '../../src/domain/webhooks/webhook.ts';
import { useReceiver } from '../support/callback-receiver.ts';
import { useDeliveries } from '../support/deliveries.ts';
import { eventually } from '../support/eventually.ts';

describe('a delivery whose group is dispatched again after a crash', function () {
  const world = useDeliveries();
  const receiver = useReceiver('each test');
  const execute = (statement: string) => world.database.em.fork().execute(statement);

  /** Leaves a delivery as a worker that died during the first attempt does, changes its webhook and dispatches again. */
  async function repeatAfter(change: Record<string, unknown>) {
    const webhookId = await world.webhook({ url: receiver.url });
    await world.publish([{}]);
    const [row] = await eventually('delivered', async () => {
      const rows = await world.deliveries(webhookId);
      return rows[0]?.status === 'succeeded' && rows;
    });
    // The first dispatch is over, and does not mark the group as done later.
    await eventually('the group is done', async () => {
      const [found] = await execute(`
        select done_at from event_groups where id = (select group_id from events where seq = ${row?.event_seq})`);
      return found?.done_at !== null;
    });
    await execute(`delete from delivery_attempts where delivery_id = '${row?.id}'`);
    await execute(`
      update deliveries set status = 'pending', attempts_count = 0, created_at = now() - interval '1 minute'
      where id = '${row?.id}'`);
    const [group] = await execute(`
      update event_groups set done_at = null
      where id = (select group_id from events where seq = ${row?.event_seq}) returning id`);
    await world.changeWebhook(webhookId, change);
    await renewGroup(world.database, group?.id);
    const [renewed] = await execute(`select group_id as id from events where seq = ${row?.event_seq}`);
    await world.control.dispatch([renewed?.id]);
    await eventually('the group is done', async () => {
      const [found] = await execute(`select done_at from event_groups where id = '${renewed?.id}'`);
      return found?.done_at !== null;
    });
    return (await world.deliveries(webhookId)).map(({ status, reason }) => [status, reason]);
  }

  const filtered = (filters: Subscription['filters']) => [{ event: 'issue.created' as const, filters }];

  it('is sent if its webhook has other filters by now', async () => {
    const events = filtered([{ field: 'status', values: ['no such status'] }]);
    assert.deepEqual(await repeatAfter({ events }), [['succeeded', null]]);
    assert.equal(receiver.requests.length, 2);
  });

  it('is sent if its webhook does not subscribe to its kind any more', async () => {
    const events = [{ event: 'user.joined' as const, filters: [] }];
    assert.deepEqual(await repeatAfter({ events }), [['succeeded', null]]);
    assert.equal(receiver.requests.length, 2);
  });

  it('is skipped if its webhook is inactive by now', async () => {
    const skipped = ['skipped', 'the webhook is inactive'];
    assert.deepEqual(await repeatAfter({ active: false }), [skipped]);
    assert.equal(receiver.requests.length, 1);
  });
});
