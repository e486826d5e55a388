import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { pino } from 'pino';
import { queryBuilderOf } from '../../src/database/database.ts';
import { startNotifications } from '../../src/database/common/notifications.ts';
import { listedDelivery } from '../../src/domain/webhooks/delivery-view.ts';
import { webhookView } from '../../src/domain/webhooks/webhook-view.ts';
import { keyWith } from '../api/keys.ts';
import { addWorkspace } from '../support/people.ts';
import { openPlain, type PlainChannel } from '../support/plain-channel.ts';
import { useWebhooks } from '../support/webhooks.ts';
import { type Received, useOwnWorld } from '../support/world.ts';
import { eventually } from '../support/eventually.ts';

type Delivery = Received['json'];

describe('the room of a webhook', function () {
  const world = useOwnWorld({ worker: false, deliveryWorker: true });
  let token: string;
  const clients: PlainChannel[] = [];
  before(async () => {
    token = await tokenOf();
  });
  afterEach(() => Promise.all(clients.splice(0).map((client) => client.close())));
  const { receiver, create: webhook, publish } = useWebhooks(world);

  const tokenOf = async (key?: string): Promise<string> =>
    (await world.send('POST', '/api/v1/tokens', key ? { key } : {})).json.token;
  const join = async (webhookId: string, as = token) => {
    const client = await openPlain(world.api.url, as);
    clients.push(client);
    return { ...client, joined: await client.ask({ type: 'join', room: `webhook:${webhookId}` }) };
  };
  /** Waits for an update of an event's delivery that fulfils `matches`. Returns all updates of this delivery. */
  const deliveryUpdates = async (
    client: PlainChannel,
    eventId: string,
    matches: (delivery: Delivery) => boolean,
  ) =>
    await eventually(`the delivery of ${eventId} as expected`, () => {
      const updates = client.messages
        .filter(({ type, event }) => type === 'event' && event.type === 'delivery.changed')
        .map(({ event }) => event.delivery)
        .filter((delivery) => delivery.event_id === eventId);
      return updates.length > 0 && matches(updates.at(-1)) && updates;
    });

  it('starts with a snapshot of the webhook and its newest deliveries as in the API, without secrets', async () => {
    const id = await webhook({ secret: 'a secret nobody sees' });
    const first = await publish();
    await receiver.receives(1);
    const list = async () => (await world.send('GET', `/api/v1/webhooks/${id}/deliveries`)).json.data;
    await eventually('the delivery is recorded', async () => (await list())[0]?.status === 'succeeded');
    const { joined } = await join(id);
    assert.equal(joined.type, 'joined');
    assert.equal(joined.last_seq, 0);
    assert.deepEqual(joined.snapshot.webhook, (await world.send('GET', `/api/v1/webhooks/${id}`)).json);
    assert.deepEqual(joined.snapshot.deliveries, await list());
    assert.equal(joined.snapshot.deliveries[0].event_id, first);
    assert.ok(!JSON.stringify(joined).includes('a secret nobody sees'));
  });

  it('emits each delivery from its start to its end, in the format of the list', async () => {
    const id = await webhook();
    const viewers = [await join(id), await join(id)];
    const event = await publish();
    for (const viewer of viewers) {
      const states = await deliveryUpdates(viewer, event, ({ status }) => status === 'succeeded');
      const last = states.at(-1);
      const { json } = await world.send('GET', `/api/v1/webhooks/${id}/deliveries`);
      assert.deepEqual(last, json.data[0]);
      for (const state of states) listedDelivery.parse(state);
    }
  });

  it('emits failures and manual retries', async () => {
    receiver.answering(503);
    const id = await webhook();
    const viewer = await join(id);
    const event = await publish();
    const [failed] = (await deliveryUpdates(viewer, event, ({ status }) => status === 'retrying')).slice(-1);
    assert.equal(failed.response_status, 503);
    assert.equal(failed.attempts_count, 1);
    assert.ok(failed.next_attempt_at);
    receiver.answering(204);
    await world.send('POST', `/api/v1/deliveries/${failed.id}/retry`);
    const all = await deliveryUpdates(viewer, event, ({ status }) => status === 'succeeded');
    assert.equal(all.at(-1).attempts_count, 2);
  });

  it('emits scheduled retries, and their end', async () => {
    receiver.answering(503);
    const id = await webhook();
    const viewer = await join(id);
    const event = await publish();
    const [failed] = (await deliveryUpdates(viewer, event, ({ status }) => status === 'retrying')).slice(-1);
    const path = `/api/v1/deliveries/${failed.id}/retry`;
    // Deliveries are read again once, a second after a join. So the second time is only in a notified update.
    for (const hours of [1, 2]) {
      const at = new Date(Date.now() + hours * 3_600_000).toISOString();
      await world.send('POST', path, { body: { at } });
      await deliveryUpdates(viewer, event, ({ scheduled_at }) => scheduled_at === at);
    }
    await world.send('DELETE', path);
    const all = await deliveryUpdates(viewer, event, ({ scheduled_at }) => scheduled_at === null);
    assert.equal(all.at(-1).next_attempt_at, failed.next_attempt_at);
  });

  it('emits held, recovered and cancelled deliveries, and the changes of the webhook', async () => {
    receiver.answering(500);
    const id = await webhook();
    const viewer = await join(id);
    const events = [];
    for (let count = 0; count < 11; count += 1) events.push(await publish());
    const lastOfWebhook = () =>
      viewer.messages.findLast(({ event }) => event?.type === 'webhook.changed')?.event.webhook;
    await eventually('the webhook is disabled', () => lastOfWebhook()?.status === 'disabled');
    webhookView.parse(lastOfWebhook());
    for (const event of events) await deliveryUpdates(viewer, event, ({ status }) => status === 'held');
    receiver.answering(204);
    await world.send('PATCH', `/api/v1/webhooks/${id}`, { body: { active: true } });
    await eventually('the webhook is active', () => lastOfWebhook()?.status === 'active');
    const body = { since: new Date(0).toISOString(), statuses: ['held'] };
    const recovered = await world.send('POST', `/api/v1/webhooks/${id}/recover`, { body });
    assert.equal(recovered.status, 202, recovered.text);
    for (const event of events) await deliveryUpdates(viewer, event, ({ status }) => status === 'succeeded');
    receiver.answering(500);
    const last = await publish();
    await deliveryUpdates(viewer, last, ({ status }) => status === 'retrying');
    await world.send('DELETE', `/api/v1/webhooks/${id}`);
    await deliveryUpdates(viewer, last, ({ status }) => status === 'cancelled');
    await eventually('the webhook is deleted', () => lastOfWebhook() === null);
  });

  it('emits tests and deliveries that are skipped while the webhook is inactive', async () => {
    const id = await webhook({ active: false });
    const viewer = await join(id);
    const skipped = await publish();
    const [row] = await deliveryUpdates(viewer, skipped, ({ status }) => status === 'skipped');
    assert.equal(row.test, false);
    const test = await world.send('POST', `/api/v1/webhooks/${id}/test`, {
      body: { event: 'issue.created' },
    });
    assert.equal(test.status, 200, test.text);
    await eventually('the test delivery is emitted', () =>
      viewer.messages.some(
        ({ event }) => event?.delivery?.test === true && event.delivery.status === 'succeeded',
      ),
    );
  });

  it('emits only changes of its own webhook, and none to a client that has left', async () => {
    const [ownId, other] = [await webhook(), await webhook()];
    const viewer = await join(ownId);
    const leaver = await join(ownId);
    assert.equal((await leaver.ask({ type: 'leave', room: `webhook:${ownId}` })).type, 'left');
    const before = leaver.messages.length;
    const event = await publish();
    await deliveryUpdates(viewer, event, ({ status }) => status === 'succeeded');
    const about = viewer.messages.flatMap((message) => message.event?.webhook_id ?? []);
    assert.ok(about.length > 0 && about.every((id) => id === ownId && id !== other));
    assert.equal(leaver.messages.length, before);
  });

  it('catches up after a lost connection to PostgreSQL', async () => {
    const id = await webhook();
    const viewer = await join(id);
    await deliveryUpdates(viewer, await publish(), ({ status }) => status === 'succeeded');
    await sql`
      select pg_terminate_backend(pid) from pg_stat_activity
      where application_name = 'baton listener' and datname = current_database()
    `.execute(queryBuilderOf(world.database));
    const missed = await publish();
    await deliveryUpdates(viewer, missed, ({ status }) => status === 'succeeded');
    await deliveryUpdates(viewer, await publish(), ({ status }) => status === 'succeeded');
  });

  it('causes no notification while it is empty', async () => {
    const [watched, unwatched] = [await webhook(), await webhook()];
    const notified = new Set<string>();
    const notifications = await startNotifications(
      world.configuration.databaseUrl,
      pino({ level: 'silent' }),
    );
    notifications.subscribe('deliveries', null, (webhookId) => notified.add(webhookId));
    const viewer = await join(watched);
    await deliveryUpdates(viewer, await publish(), ({ status }) => status === 'succeeded');
    await eventually('the delivery of the unwatched webhook is recorded', async () => {
      const { json } = await world.send('GET', `/api/v1/webhooks/${unwatched}/deliveries`);
      return json.data[0]?.status === 'succeeded';
    });
    await eventually('a change of the watched webhook is notified', () => notified.has(watched));
    assert.deepEqual([...notified], [watched]);
    await notifications.close();
  });

  it('is counted while a client is in it, apart from the rooms of runs', async () => {
    const rooms = async () => (await world.send('GET', '/health/channel')).json.rooms;
    const counted = async (workflow: number, webhooks: number) =>
      await eventually(`${workflow} and ${webhooks} rooms`, async () => {
        const now = await rooms();
        return now.workflow === workflow && now.webhook === webhooks;
      });
    await counted(0, 0);
    const { json } = await world.submit();
    const [id, other] = [await webhook(), await webhook()];
    const client = await join(id);
    await join(id);
    await client.ask({ type: 'join', room: `webhook:${other}` });
    await client.ask({ type: 'join', room: json.websocket_room });
    await counted(1, 2);
    await client.ask({ type: 'leave', room: `webhook:${other}` });
    await counted(1, 1);
  });

  describe('is closed', () => {
    const refusal = async (webhookId: string, as?: string) => (await join(webhookId, as)).joined;

    it('to another workspace, with the same message as an unknown webhook', async () => {
      const foreign = await refusal(await webhook(), await tokenOf(await addWorkspace(world)));
      const none = await refusal(randomUUID());
      assert.equal(foreign.type, 'refused');
      assert.equal(foreign.code, 'forbidden');
      assert.equal(foreign.message, none.message);
      assert.equal(none.code, 'forbidden');
    });

    it('to a token without the scope', async () => {
      const key = await keyWith(world, ['tasks:read']);
      assert.equal((await refusal(await webhook(), await tokenOf(key))).code, 'forbidden');
    });

    it('if the webhook is deleted', async () => {
      const id = await webhook();
      await world.send('DELETE', `/api/v1/webhooks/${id}`);
      assert.equal((await refusal(id)).code, 'forbidden');
    });
  });
});
