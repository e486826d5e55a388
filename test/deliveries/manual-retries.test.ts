import assert from 'node:assert/strict';
import { randomUUIDv7 } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { pino } from 'pino';
import { createDeliveryStore } from '../../src/database/webhooks/delivery-store.ts';
import { Delivery } from '../../src/database/webhooks/entities.ts';
import { recordResults } from '../../src/database/webhooks/delivery-results.ts';
import { startForgottenManualRetries } from '../../src/reconciler/forgotten-deliveries.ts';
import { useReceiver } from '../support/callback-receiver.ts';
import { useDeliveries } from '../support/deliveries.ts';
import { eventually } from '../support/eventually.ts';
import { inTransaction, type Statement } from '../support/locked.ts';
import { successOf } from '../support/results.ts';

describe('the manual retries of a webhook', () => {
  const world = useDeliveries();
  const receiver = useReceiver('each test');

  /** Creates a webhook with so many deliveries that have succeeded. */
  async function delivered(count: number) {
    const webhookId = await world.webhook({ url: receiver.url });
    await world.publish(Array.from({ length: count }, () => ({})));
    const rows = await eventually('all are delivered', async () => {
      const found = await world.deliveries(webhookId);
      return found.length === count && found.every(({ status }) => status === 'succeeded') && found;
    });
    const [row] = rows;
    assert.ok(row);
    return { webhookId, rows, row };
  }
  const waiting = async (webhookId: string): Promise<number> =>
    (await createDeliveryStore(world.database).listManualRetries(webhookId, { after: 0, limit: 1_000 }))
      .length;
  const made = async (webhookId: string): Promise<void> => {
    await world.control.makeManualRetries(webhookId);
    await eventually('no retry waits', async () => (await waiting(webhookId)) === 0);
  };

  it('are made once each, in the order of their requests, also if there are more than are read at once', async () => {
    const { webhookId, rows } = await delivered(110);
    for (const row of rows) await world.requestRetry(row);
    await made(webhookId);
    const sent = receiver.requests.slice(rows.length).map(({ headers }) => headers['x-service-delivery']);
    assert.deepEqual(sent.toSorted(), rows.map(({ id }) => id).toSorted());
    const late = rows.map(({ id }, index) => Math.abs(sent.indexOf(id) - index));
    assert.ok(Math.max(...late) < 20, `${late.join()} places from the order of the requests`);
    assert.ok((await world.deliveries(webhookId)).every(({ attempts_count: attempts }) => attempts === 2));
  });

  it('include those that are requested while a receiver holds others', async () => {
    const { webhookId, row } = await delivered(1);
    const held: ServerResponse[] = [];
    receiver.answering((_request, response) => void held.push(response));
    await world.requestRetry(row);
    await world.control.makeManualRetries(webhookId);
    await receiver.receives(2);
    await world.requestRetry(row);
    await receiver.receives(3);
    for (const response of held) response.writeHead(500).end();
    await made(webhookId);
    const attempts = await world.attempts(row.id);
    assert.deepEqual(
      attempts.map(({ trigger, response_status: status }) => [trigger, status]),
      [
        ['automatic', 204],
        ['manual', 500],
        ['manual', 500],
      ],
    );
  });

  it('include one whose request was committed after a later one was read', async () => {
    const { webhookId, row } = await delivered(1);
    const held: ServerResponse[] = [];
    receiver.answering((_request, response) => void held.push(response));
    const request: Statement = [
      'insert into manual_retries (delivery_id, token, webhook_id, attempts) values ($1, $2, $3, 1)',
      row.id,
      randomUUIDv7(),
      webhookId,
    ];
    await inTransaction(world.database, [request], async (commit) => {
      await world.requestRetry(row);
      await world.control.makeManualRetries(webhookId);
      await receiver.receives(2);
      await commit();
      // The receiver still holds the first one.
      await receiver.receives(3);
    });
    for (const response of held) response.writeHead(500).end();
    await made(webhookId);
  });

  it('are not made again if their worker died after it had recorded the attempt', async () => {
    const { webhookId, row } = await delivered(1);
    await world.database.em.fork().nativeUpdate(Delivery, { id: row.id }, { status: 'failed' });
    const token = await world.requestRetry(row);
    const failure = { succeeded: false, failure: 'status', response_status: 500 };
    await recordResults(world.database, [successOf(row, { trigger: 'manual', token, ...failure })]);
    await made(webhookId);
    assert.equal((await world.attempts(row.id)).length, 2);
  });

  it('are not made after the delivery has succeeded, or while the webhook is inactive, which the reason says', async () => {
    const { webhookId, row } = await delivered(1);
    await world.requestRetry({ ...row, attempts_count: 0 });
    await made(webhookId);
    assert.equal((await world.deliveries(webhookId))[0]?.reason, null);
    await world.changeWebhook(webhookId, { active: false });
    await world.requestRetry(row);
    await made(webhookId);
    const [unmade] = await world.deliveries(webhookId);
    assert.match(unmade?.reason ?? '', /^a manual retry was not made at \S+Z: the webhook is inactive$/);
    assert.equal((await world.attempts(row.id)).length, 1);
  });

  it('are started by the reconciler if their process died before it started them', async () => {
    const { webhookId, row } = await delivered(1);
    await world.requestRetry(row);
    /** Returns whether the reconciler starts the retries of this webhook. Other files may have left some of others. */
    const reconcile = async (laterMs: number): Promise<boolean> => {
      const started: string[] = [];
      const makeManualRetries = (id: string) => {
        started.push(id);
        return world.control.makeManualRetries(id);
      };
      await startForgottenManualRetries({
        store: createDeliveryStore(world.database),
        deliveryControl: { ...world.control, makeManualRetries },
        clock: () => new Date(Date.now() + laterMs),
        log: pino({ level: 'silent' }),
      });
      return started.includes(webhookId);
    };
    assert.equal(await reconcile(0), false);
    assert.equal(await reconcile(16_000), true);
    await receiver.receives(2);
    await made(webhookId);
    assert.equal(await reconcile(16_000), false);
  });
});
