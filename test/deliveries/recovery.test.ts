import assert from 'node:assert/strict';
import type { KyselyPlugin } from 'kysely';
import { pino } from 'pino';
import type { Dependencies } from '../../src/api/dependencies.ts';
import { recoverWebhook } from '../../src/api/webhooks/recover.ts';
import { queryBuilderOf } from '../../src/database/database.ts';
import { EngineUnavailable } from '../../src/temporal/task-control.ts';
import { useDeliveries } from '../support/deliveries.ts';
import { eventually } from '../support/eventually.ts';

describe('a recovery', () => {
  const world = useDeliveries();

  it('is refused if Temporal is unavailable, and accepted if it becomes so after it was stored', async () => {
    const webhookId = await world.webhook({ url: 'http://webhook' });
    await world.changeWebhook(webhookId, { disabled_at: new Date() });
    await world.publish([{}]);
    await eventually(
      'a held delivery',
      async () => (await world.deliveries(webhookId))[0]?.status === 'held',
    );
    await world.changeWebhook(webhookId, { disabled_at: null });
    const unavailable = () => Promise.reject(new EngineUnavailable('no connection'));
    const recover = async (ready: () => Promise<void>) => {
      const deps = {
        database: world.database,
        control: { ready },
        deliveryControl: { drainBacklog: unavailable },
        clock: () => new Date(),
        log: pino({ level: 'silent' }),
      } as unknown as Dependencies;
      return await recoverWebhook(deps, {
        workspaceId: world.installation.workspace_id,
        actor: 'test',
        id: webhookId,
        since: new Date(Date.now() - 3_600_000),
        statuses: undefined,
        countOnly: false,
      });
    };
    const state = async () => {
      const [row] = await world.deliveries(webhookId);
      return [row?.status, row?.in_backlog];
    };
    await assert.rejects(recover(unavailable), EngineUnavailable);
    assert.deepEqual(await state(), ['held', false]);
    const { status, body } = await recover(async () => {});
    assert.deepEqual([status, body], [202, { count: 1 }]);
    assert.deepEqual(await state(), ['pending', true]);
    await world.changeWebhook(webhookId, { deleted_at: new Date() });
  });
});

describe('the number of deliveries that a recovery would send', () => {
  const world = useDeliveries();

  /** Returns dependencies whose statements are watched, and the number of payloads that they have returned. */
  function watched() {
    const read = { payloads: 0 };
    const watch: KyselyPlugin = {
      transformQuery: ({ node }) => node,
      async transformResult({ result }) {
        read.payloads += result.rows.filter((row) => 'body' in row).length;
        return result;
      },
    };
    const builder = queryBuilderOf(world.database).withPlugin(watch);
    const fork = () => Object.assign(world.database.em.fork(), { getKysely: () => builder });
    return { read, deps: { database: { em: { fork } } } as unknown as Dependencies };
  }

  it('is counted without payloads, except those that filters need', async () => {
    const filters = [{ field: 'priority' as const, values: ['Low'] }];
    const kinds = [
      { event: 'issue.created' as const, filters: [] },
      { event: 'issue.updated' as const, filters },
    ];
    const webhookId = await world.webhook({
      url: 'http://webhook',
      active: false,
      events: [...kinds, { event: 'user.joined', filters: [] }],
    });
    await world.publish([
      { event: 'issue.created' },
      { event: 'issue.created' },
      { event: 'issue.updated', data: '{"issue":{"id":"1","priority":"Low"}}' },
      { event: 'issue.updated', data: '{"issue":{"id":"2","priority":"High"}}' },
      { event: 'user.joined' },
    ]);
    await eventually('all are skipped', async () => {
      const rows = await world.deliveries(webhookId);
      return rows.length === 5 && rows.every(({ status }) => status === 'skipped');
    });
    await world.changeWebhook(webhookId, { events: kinds });
    const { read, deps } = watched();
    const { body } = await recoverWebhook(deps, {
      workspaceId: world.installation.workspace_id,
      actor: 'test',
      id: webhookId,
      since: new Date(Date.now() - 3_600_000),
      statuses: ['skipped'],
      countOnly: true,
    });
    assert.deepEqual(body, { count: 3 });
    assert.equal(read.payloads, 2, 'those of the kind with a filter');
  });
});
