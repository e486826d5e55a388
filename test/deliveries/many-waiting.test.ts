import assert from 'node:assert/strict';
import { BATCH_ROWS } from '../../src/database/common/batches.ts';
import { recordResults } from '../../src/database/webhooks/delivery-results.ts';
import { createDeliveryStore } from '../../src/database/webhooks/delivery-store.ts';
import { recoverDeliveries, type Recovery } from '../../src/database/webhooks/recovery.ts';
import { holdOrCancelWaiting } from '../../src/database/webhooks/waiting-deliveries.ts';
import { deleteWebhook } from '../../src/database/webhooks/webhooks.ts';
import { FAILURES_TO_DISABLE } from '../../src/domain/common/limits.ts';
import { holdOrCancelLeftovers } from '../../src/reconciler/forgotten-deliveries.ts';
import { useReceiver } from '../support/callback-receiver.ts';
import { useOwnDeliveries } from '../support/deliveries.ts';
import { eventually } from '../support/eventually.ts';
import { successOf } from '../support/results.ts';

/** Deliveries of many batches. */
const MANY = 2_500;

describe('a webhook with thousands of waiting deliveries', () => {
  const world = useOwnDeliveries();
  const receiver = useReceiver('each test');
  const other = useReceiver('each test');
  const releases: (() => Promise<void>)[] = [];
  afterEach(() => Promise.all(releases.splice(0).map((release) => release())));

  const query = <Row>(statement: string, values: unknown[] = []) =>
    world.database.em.fork().execute<Row[]>(statement, values);

  /** Creates a webhook with deliveries of this status, without attempts. Returns the ids in order. */
  async function prepare(
    status: 'retrying' | 'held' | 'skipped',
  ): Promise<{ webhookId: string; ids: string[] }> {
    const webhookId = await world.webhook({
      url: receiver.url,
      events: [{ event: 'issue.created', filters: [] }],
    });
    await query(
      `with event as (
         insert into events (workspace_id, id, event, "timestamp", content_hash, body, received_at)
         values (?, ?, 'issue.created', now(), '', '{}', now()) returning seq
       )
       insert into deliveries (id, workspace_id, webhook_id, event_seq, event_id, event, status, failures,
         next_attempt_at, retry_started, created_at, updated_at)
       select gen_random_uuid(), ?, ?, event.seq, 'e', 'issue.created', ?, 1, now() + interval '1 hour', true, now(), now()
       from event, generate_series(1, ${MANY})`,
      [
        world.installation.workspace_id,
        `evt_${webhookId}`,
        world.installation.workspace_id,
        webhookId,
        status,
      ],
    );
    const rows = await query<{ id: string }>('select id from deliveries where webhook_id = ? order by id', [
      webhookId,
    ]);
    return { webhookId, ids: rows.map(({ id }) => id) };
  }

  /** Locks these deliveries in a separate transaction. */
  async function lock(ids: string[]): Promise<() => Promise<void>> {
    const em = world.database.em.fork();
    await em.begin();
    // A slow machine needs more than the minute that idle transactions have otherwise.
    await em.execute('set local idle_in_transaction_session_timeout = 0');
    await em.execute(`select from deliveries where id in (${ids.map(() => '?').join(', ')}) for update`, ids);
    let isHeld = true;
    const release = async () => {
      if (isHeld) await em.commit();
      isHeld = false;
    };
    releases.push(release);
    return release;
  }

  const count = async (webhookId: string, status: string): Promise<number> => {
    const [row] = await query<{ count: number }>(
      'select count(*)::integer as count from deliveries where webhook_id = ? and status = ?',
      [webhookId, status],
    );
    return row?.count ?? -1;
  };
  const becomes = (webhookId: string, status: string, wanted: number) =>
    eventually(`${wanted} ${status}`, async () => (await count(webhookId, status)) === wanted);
  const statusOf = async (id: string) =>
    (await query<{ status: string }>('select status from deliveries where id = ?', [id]))[0]?.status;
  const reconcile = () => holdOrCancelLeftovers({ store: createDeliveryStore(world.database) });

  it('is disabled while its deliveries are still being held, without delaying other results', async () => {
    receiver.answering(500);
    const { webhookId, ids } = await prepare('retrying');
    const [first = '', second = ''] = ids;
    const release = await lock([first, second]);
    await world.publish(Array.from({ length: FAILURES_TO_DISABLE }, () => ({})));
    await receiver.receives(FAILURES_TO_DISABLE);
    const otherId = await world.webhook({
      url: other.url,
      events: [{ event: 'issue.updated', filters: [] }],
    });
    await world.publish([{ event: 'issue.updated' }]);

    await eventually('disabled', async () => (await world.webhookRow(webhookId)).disabled_at !== null);
    await becomes(otherId, 'succeeded', 1);
    await becomes(webhookId, 'held', MANY + FAILURES_TO_DISABLE - 2);
    assert.deepEqual([await statusOf(first), await statusOf(second)], ['retrying', 'retrying']);
    await release();

    // An attempt of a delivery that is not held yet reads the webhook first.
    await query('update deliveries set next_attempt_at = now() where id = ?', [first]);
    await world.control.startRetries({ deliveryId: first, generation: 0 }, 0);
    await world.client.workflow.getHandle(`delivery:${first}:0`).result();
    assert.equal(await statusOf(first), 'held');
    assert.equal(receiver.requests.length, FAILURES_TO_DISABLE);
    // The reconciler holds the other delivery, for example after the worker died.
    await reconcile();
    assert.equal(await statusOf(second), 'held');
  });

  it('is deleted while its deliveries are still being cancelled', async () => {
    const { webhookId, ids } = await prepare('held');
    const release = await lock(ids.slice(-1));
    const { workspace_id: workspaceId } = world.installation;
    const selected = { workspaceId, id: webhookId, actor: 'test', now: new Date() };
    assert.equal(await deleteWebhook(world.database, selected, Number.POSITIVE_INFINITY), true);
    assert.deepEqual([await count(webhookId, 'cancelled'), await count(webhookId, 'held')], [MANY - 1, 1]);
    await release();
    await reconcile();
    assert.equal(await count(webhookId, 'cancelled'), MANY);
  });

  it('is deleted although the time for its deliveries is over', async () => {
    const { webhookId } = await prepare('retrying');
    const { workspace_id: workspaceId } = world.installation;
    const selected = { workspaceId, id: webhookId, actor: 'test', now: new Date() };
    assert.equal(await deleteWebhook(world.database, selected, 0), true);
    assert.equal(await deleteWebhook(world.database, selected, 0), false, 'it is deleted');
    assert.equal(await count(webhookId, 'retrying'), MANY);
    await reconcile();
    assert.equal(await count(webhookId, 'cancelled'), MANY);
  });

  const recover = (webhookId: string, chosen: Partial<Pick<Recovery, 'statuses' | 'skipped'>> = {}) =>
    recoverDeliveries(
      world.database,
      {
        workspaceId: world.installation.workspace_id,
        webhookId,
        since: new Date(0),
        statuses: ['held', 'failed'],
        skipped: [],
        actor: 'test',
        now: new Date(),
        ...chosen,
      },
      () => {},
    );

  it('is recovered completely, in batches', async () => {
    const { webhookId, ids } = await prepare('held');
    const release = await lock(ids.slice(-1));
    const recovery = recover(webhookId);
    // The last batch waits for the locked delivery.
    await becomes(webhookId, 'pending', Math.floor((MANY - 1) / BATCH_ROWS) * BATCH_ROWS);
    await release();
    assert.equal(await recovery, MANY);
    const rows = await world.deliveries(webhookId);
    assert.ok(
      rows.every(
        (row) => row.status === 'pending' && row.in_backlog && row.generation === 1 && row.failures === 0,
      ),
    );
  });

  it('is recovered with every skipped delivery that the caller chose', async () => {
    const { webhookId, ids } = await prepare('skipped');
    const [unchosen = '', ...skipped] = ids;
    assert.equal(await recover(webhookId, { statuses: [], skipped }), MANY - 1);
    assert.equal(await count(webhookId, 'pending'), MANY - 1);
    assert.equal(await statusOf(unchosen), 'skipped');
  });

  it('keeps its recovered deliveries held if it was disabled again, and sends them if it is enabled', async () => {
    const { webhookId } = await prepare('held');
    await world.changeWebhook(webhookId, { disabled_at: new Date() });
    await recover(webhookId);
    assert.equal(await count(webhookId, 'held'), MANY);

    await world.changeWebhook(webhookId, { disabled_at: null });
    await recover(webhookId);
    await holdOrCancelWaiting(world.database, webhookId);
    await reconcile();
    assert.equal(await count(webhookId, 'pending'), MANY);
  });

  it('has a delivery held if its attempt fails after the disabling', async () => {
    const { webhookId, ids } = await prepare('retrying');
    await world.changeWebhook(webhookId, { disabled_at: new Date() });
    const [row] = await world.deliveries(webhookId);
    assert.ok(row && ids.includes(row.id));
    const result = successOf(row, {
      failures: row.failures,
      succeeded: false,
      response_status: 500,
      failure: 'status',
    });
    const { recorded } = await recordResults(world.database, [result]);
    const { status, generation, next_attempt_at } = recorded.get(row.id) ?? {};
    assert.deepEqual([status, generation, next_attempt_at], ['held', 1, null]);
  });
});
