import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { randomUUID } from 'node:crypto';
import { recordWithRetries } from '../../src/activities/deliveries/recording.ts';
import type { Database } from '../../src/database/database.ts';
import { findRecordedResults, recordResults } from '../../src/database/webhooks/delivery-results.ts';
import { createDeliveryStore } from '../../src/database/webhooks/delivery-store.ts';
import {
  listUnstartedRetries,
  markRetriesStarted,
  type PlannedDelivery,
} from '../../src/database/webhooks/dispatch.ts';
import { useReceiver } from '../support/callback-receiver.ts';
import { useDeliveries } from '../support/deliveries.ts';
import { successOf } from '../support/results.ts';
import { eventually } from '../support/eventually.ts';

describe('the result of an attempt', function () {
  const receiver = useReceiver();
  const world = useDeliveries();

  for (const point of ['before', 'after'] as const) {
    it(`is recorded once if the connection breaks ${point} the commit`, async () => {
      receiver.answering(500);
      const webhookId = await world.webhook({ url: receiver.url });
      await world.publish([{}]);
      const row = await eventually('a failed delivery', async () => {
        const [found] = await world.deliveries(webhookId);
        return found?.status === 'retrying' && found;
      });
      const result = successOf(row, { trigger: 'manual' });
      const { recorded } = await recordWithRetries(createDeliveryStore(breaking(world.database, point)), [
        result,
      ]);
      assert.equal(recorded.get(row.id)?.status, 'succeeded');
      assert.equal(recorded.get(row.id)?.number, 2);
      assert.deepEqual(
        (await world.attempts(row.id)).map(({ number, response_status: status }) => [number, status]),
        [
          [1, 500],
          [2, 204],
        ],
      );
      assert.equal((await world.deliveries(webhookId))[0]?.attempts_count, 2);
    });
  }

  it('is not taken for the one of another request in the same millisecond', async () => {
    const webhookId = await world.webhook({ url: receiver.url });
    await world.publish([{}]);
    const row = await eventually('a delivery', async () => {
      const [found] = await world.deliveries(webhookId);
      return found?.attempts_count === 1 && found;
    });
    const at = { trigger: 'manual', attempted_at: new Date().toISOString() } as const;
    await recordResults(world.database, [successOf(row, { ...at, token: randomUUID() })]);
    const other = successOf(row, { ...at, token: randomUUID() });
    assert.equal((await findRecordedResults(world.database, [other])).size, 0);
    await recordResults(world.database, [other]);
    assert.equal((await findRecordedResults(world.database, [other])).get(row.id)?.number, 3);
  });

  it('does not mark the retries of a schedule as started that has restarted since', async () => {
    receiver.answering(500);
    const webhookId = await world.webhook({ url: receiver.url });
    await world.publish([{}]);
    const { id: deliveryId } = await eventually('a delivery whose retries started', async () => {
      const [found] = await world.deliveries(webhookId);
      return found?.retry_started ? found : null;
    });
    await world.database.em
      .fork()
      .execute('update deliveries set generation = 1, retry_started = false where id = ?', [deliveryId]);
    const isUnstarted = async () => {
      const rows = await listUnstartedRetries(world.database, new Date(Date.now() + 1_000), 100);
      return rows.some(({ id }) => id === deliveryId);
    };
    await markRetriesStarted(world.database, { deliveryId, generation: 0 });
    assert.ok(await isUnstarted(), 'the reconciler still starts them');
    await markRetriesStarted(world.database, { deliveryId, generation: 1 });
    assert.ok(!(await isUnstarted()));
  });

  describe('of a new delivery', () => {
    /** Returns a delivery that was matched but has no row. */
    const planned = async () => {
      const webhookId = await world.webhook({ url: receiver.url });
      return { id: randomUUID(), webhook_id: webhookId, workspace_id: world.installation.workspace_id };
    };
    const created_at = '2026-01-31T12:00:00.000Z';
    const new_delivery = { event_seq: 7, event_id: 'evt_7', event: 'issue.created' as const, created_at };
    const failed = { succeeded: false, response_status: 500, failure: 'status' };
    const stored = async (webhookId: string) => {
      const [row, ...others] = await world.deliveries(webhookId);
      assert.ok(row && others.length === 0);
      const attempts = await world.attempts(row.id);
      assert.deepEqual(
        attempts.map(({ number }) => number),
        [1],
      );
      return row;
    };

    it('also writes the row of the delivery', async () => {
      const delivery = await planned();
      const { recorded } = await recordResults(world.database, [successOf(delivery, { new_delivery })]);
      assert.equal(recorded.get(delivery.id)?.number, 1);
      const row = await stored(delivery.webhook_id);
      assert.deepEqual(
        [
          row.status,
          row.event_seq,
          row.event_id,
          row.event,
          row.created_at.toISOString(),
          row.attempts_count,
        ],
        ['succeeded', 7, 'evt_7', 'issue.created', created_at, 1],
      );
    });

    it('is the same if it succeeded alone, or beside a result of another kind', async () => {
      const token = randomUUID();
      const times = { attempted_at: '2026-01-31T12:00:00.001Z', completed_at: '2026-01-31T12:00:00.002Z' };
      const write = async (isAlone: boolean) => {
        const [delivery, other] = [await planned(), await planned()];
        const success = successOf(delivery, { new_delivery, ...times });
        const manual = successOf(other, { new_delivery, trigger: 'manual', token });
        const { recorded } = await recordResults(world.database, isAlone ? [success] : [success, manual]);
        const row = await stored(delivery.webhook_id);
        const [attempt] = await world.attempts(row.id);
        const own = { id: null, webhook_id: null, delivery_id: null };
        return { state: recorded.get(row.id), row: { ...row, ...own }, attempt: { ...attempt, ...own } };
      };
      assert.deepEqual(await write(true), await write(false));
    });

    it('is added to the delivery if that exists already, and left out if the webhook does not', async () => {
      const [twice, gone, good] = [await planned(), await planned(), await planned()];
      const result = (of: typeof twice) => successOf(of, { new_delivery });
      await recordResults(world.database, [result(twice)]);
      const missing = { ...gone, webhook_id: randomUUID() };
      const { recorded } = await recordResults(
        world.database,
        [twice, good, missing].map((of) => result(of)),
      );
      assert.deepEqual(
        [twice, good, missing].map(({ id }) => recorded.get(id)?.number),
        [2, 1, undefined],
      );
      assert.equal((await stored(good.webhook_id)).status, 'succeeded');
      assert.equal((await world.deliveries(twice.webhook_id))[0]?.attempts_count, 2);
    });

    it('starts the retry schedule if it is a failure', async () => {
      const delivery = await planned();
      const result = successOf(delivery, { new_delivery, ...failed });
      const { recorded } = await recordResults(world.database, [result]);
      const row = await stored(delivery.webhook_id);
      assert.deepEqual([row.status, row.failures, row.generation], ['retrying', 1, 0]);
      assert.equal(row.next_attempt_at?.getTime(), Date.parse(result.completed_at) + 60_000);
      assert.deepEqual(recorded.get(row.id)?.next_attempt_at, row.next_attempt_at);
    });

    it('waits for no process that stores other deliveries of the webhook', async () => {
      const delivery = await planned();
      await world.database.em.fork().transactional(async (em) => {
        // The lock of an insert of a delivery, which refers to the webhook.
        await em.execute('select id from webhooks where id = ? for key share', [delivery.webhook_id]);
        await recordResults(world.database, [successOf(delivery, { new_delivery, ...failed })]);
      });
      assert.equal((await stored(delivery.webhook_id)).status, 'retrying');
    });

    it('holds the delivery if it is a failure after its webhook was disabled', async () => {
      const delivery = await planned();
      await world.changeWebhook(delivery.webhook_id, { disabled_at: new Date() });
      await recordResults(world.database, [successOf(delivery, { new_delivery, ...failed })]);
      const row = await stored(delivery.webhook_id);
      assert.deepEqual(
        [row.status, row.generation, row.next_attempt_at, row.reason],
        ['held', 1, null, 'the webhook is disabled'],
      );
    });

    it('is recorded if another transaction stores the row at the same time', async () => {
      const delivery = await planned();
      const row: PlannedDelivery = { ...delivery, ...new_delivery, status: 'pending', reason: null };
      const pool = await world.database.em.getConnection().getNativeClient();
      const other = await pool.connect();
      try {
        await other.query('begin');
        await other.query(
          `insert into deliveries (id, workspace_id, webhook_id, event_seq, event_id, event, status, created_at, updated_at)
           values ($1, $2, $3, 7, 'evt_7', 'issue.created', 'pending', now(), now())`,
          [row.id, row.workspace_id, row.webhook_id],
        );
        const recording = recordResults(world.database, [successOf(delivery, { new_delivery })]);
        await eventually('the result waits for the other transaction', async () => {
          const { rowCount } = await pool.query(
            `select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like '%with result as%'`,
          );
          return rowCount === 1;
        });
        await other.query('commit');
        assert.equal((await recording).recorded.get(delivery.id)?.status, 'succeeded');
      } finally {
        other.release();
      }
      assert.equal((await stored(delivery.webhook_id)).status, 'succeeded');
    });
  });
});

/** Returns the database. Its first prepared statement loses the connection at this point. */
function breaking(database: Database, point: 'before' | 'after'): Database {
  let isBroken = false;
  const lost = () => Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
  const connection = {
    async getNativeClient() {
      const pool = await database.em.getConnection().getNativeClient();
      const query = async (statement: { text: string }) => {
        const breaks = !isBroken;
        isBroken = true;
        if (breaks && point === 'before') throw lost();
        const answer = await pool.query(statement);
        if (breaks) throw lost();
        return answer;
      };
      return { connect: async () => Object.assign(new EventEmitter(), { query, release() {} }) };
    },
  };
  const em = { getConnection: () => connection, fork: () => database.em.fork() };
  return { em } as unknown as Database;
}
