import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import type { OutgoingEvent } from '../../clients/typescript/src/index.ts';
import { useReceiver } from '../support/callback-receiver.ts';
import { eventually } from '../support/eventually.ts';
import { useWorld } from '../support/world.ts';
import { useClient } from './installed-client.ts';

const SECRET = randomBytes(32).toString('hex');

describe('the client package for events and webhooks', function () {
  const world = useWorld();
  const { client, baton, connect } = useClient(world);
  const receiver = useReceiver();

  const joined = (count: number): OutgoingEvent[] =>
    Array.from({ length: count }, (_, number) => ({
      event: 'user.joined',
      data: { user: { id: `usr_${number}`, name: 'Ada' } },
    }));
  /** Returns a fetch that counts the events of each request, and can change or drop the responses. */
  function counting(
    onResponse: (number: number, response: Response) => Response = (_, response) => response,
  ) {
    const sizes: number[] = [];
    const fetching: typeof fetch = async (input, init) => {
      sizes.push(JSON.parse(init?.body as string).events?.length ?? 1);
      return onResponse(sizes.length, await fetch(input, init));
    };
    return { fetch: fetching, sizes };
  }
  const createWebhook = (plan: Record<string, unknown> = {}) =>
    baton.webhooks.create({
      name: 'A webhook',
      url: receiver.url,
      secret: SECRET,
      standard_webhooks: true,
      events: [{ event: 'issue.updated', filters: [] }],
      ...plan,
    });

  it('sends an event, which is delivered with a signature that it verifies', async () => {
    const webhook = await createWebhook();
    const before = receiver.requests.length;
    const data = { issue: { id: 'iss_1', key: 'SHOP-1', status: 'Done', title: 'Größe ✓' } };
    const { id, duplicate } = await baton.events.send({ event: 'issue.updated', data });
    assert.deepEqual([duplicate, /^evt_[0-9a-f]{32}$/.test(id)], [false, true]);
    const request = (await receiver.receives(before + 1))[before];
    assert.ok(request);
    const payload = await client.verifyWebhook(request.body, request.headers, SECRET, {
      requireTimestamp: true,
    });
    assert.ok(payload.event === 'issue.updated');
    assert.deepEqual([payload.id, payload.data.issue.title], [id, 'Größe ✓']);
    const tampered = Buffer.from(request.body.toString().replace('Done', 'Open'));
    await assert.rejects(client.verifyWebhook(tampered, request.headers, SECRET), { reason: 'mismatch' });
    const late = { now: new Date(Date.now() + 3_600_000) };
    await assert.rejects(client.verifyWebhook(request.body, request.headers, SECRET, late), {
      reason: 'too_old',
    });

    const delivery = await eventually('the delivery is recorded', async () => {
      const [found] = await baton.deliveries.list(webhook.id, { event: ['issue.updated'] }).take(1);
      return found?.status === 'succeeded' && found;
    });
    const detail = await baton.deliveries.get(delivery.id);
    assert.deepEqual(
      detail.attempts.map(({ trigger, response }) => [trigger, response?.status]),
      [['automatic', 204]],
    );
    await baton.deliveries.retry(delivery.id);
    await receiver.receives(before + 2);
    await baton.webhooks.delete(webhook.id);
  });

  it('verifies both signatures during a rotation of the secret', async () => {
    const webhook = await createWebhook({ events: [{ event: 'issue.created', filters: [] }] });
    const rotated = await baton.webhooks.rotateSecret(webhook.id, { overlap_hours: 1 });
    assert.match(rotated.secret ?? '', /^[0-9a-f]{64}$/);
    const before = receiver.requests.length;
    await baton.events.send({ event: 'issue.created', data: { issue: { id: 'iss_2' } } });
    const request = (await receiver.receives(before + 1))[before];
    assert.ok(request);
    for (const secret of [SECRET, rotated.secret ?? '']) {
      assert.equal(
        (await client.verifyWebhook(request.body, request.headers, secret)).event,
        'issue.created',
      );
    }
    await baton.webhooks.delete(webhook.id);
  });

  it('sends at most 500 events per request, and keeps their order in the result', async () => {
    const { fetch: countingFetch, sizes } = counting();
    const events = joined(1_201).map((event, number) => ({
      ...event,
      id: `in-order-${Date.now()}-${number}`,
    }));
    const accepted = await connect({ fetch: countingFetch }).events.send(events);
    assert.deepEqual(sizes, [500, 500, 201]);
    assert.deepEqual(
      accepted,
      events.map(({ id }) => ({ id, duplicate: false })),
    );
    assert.deepEqual(await baton.events.send([]), []);
  });

  it('sends at most 1 MiB per request', async () => {
    const { fetch: countingFetch, sizes } = counting();
    const words = 'ü'.repeat(60_000);
    const events = joined(20).map((event) => ({ ...event, data: { ...event.data, words } }));
    assert.equal((await connect({ fetch: countingFetch }).events.send(events)).length, 20);
    assert.deepEqual(sizes, [8, 8, 4]);
  });

  it('repeats a request with the same ids after a lost response or 503, and events are stored once', async () => {
    const { fetch: unreliableFetch, sizes } = counting((number, response) => {
      if (number === 1) throw new TypeError('the connection was lost');
      return number === 2 ? new Response('', { status: 503 }) : response;
    });
    const accepted = await connect({ fetch: unreliableFetch }).events.send(joined(3));
    assert.deepEqual(sizes, [3, 3, 3]);
    assert.deepEqual(
      accepted.map(({ duplicate }) => duplicate),
      [true, true, true],
    );
  });

  it('reports the unsent events if a later request is rejected', async () => {
    const events = joined(501);
    const wrong = { event: 'user.joined', data: {} } as const;
    await assert.rejects(baton.events.send([...events, wrong]), (error: unknown) => {
      assert.ok(error instanceof client.EventsLeft);
      assert.deepEqual([error.taken.length, error.left.length], [500, 2]);
      assert.ok(error.cause instanceof client.BatonProblem);
      assert.equal(error.cause.errors[0]?.pointer, '/events/1/data/user');
      return true;
    });
    await assert.rejects(baton.events.send(wrong), { code: 'validation_failed' });
  });

  it('sends nothing if an event of a later request cannot be serialized', async () => {
    const cycle: Record<string, unknown> = {};
    cycle['self'] = cycle;
    for (const user of [{ id: 1n }, cycle]) {
      const { fetch: countingFetch, sizes } = counting();
      const events = [...joined(501), { event: 'user.joined', data: { user } } as OutgoingEvent];
      await assert.rejects(connect({ fetch: countingFetch }).events.send(events), TypeError);
      assert.deepEqual(sizes, []);
    }
  });

  it('returns the generated ids if every response is lost, and events are stored once', async () => {
    const { fetch: losing } = counting(() => {
      throw new TypeError('the connection was lost');
    });
    const loser = connect({ fetch: losing, retries: 1 }).events;
    const one: OutgoingEvent = { event: 'user.joined', data: { user: { id: 'usr_1' } } };
    for (const send of [() => loser.send(joined(501)), () => loser.send(one)]) {
      const error = await send().then(
        () => assert.fail('it was confirmed'),
        (thrown: unknown) => thrown,
      );
      assert.ok(error instanceof client.EventsLeft, String(error));
      assert.deepEqual(error.taken, []);
      assert.ok(error.cause instanceof client.BatonUnreachable);
      const firstRequest = error.left.slice(0, 500);
      const accepted = await baton.events.send(firstRequest);
      assert.deepEqual(
        accepted,
        firstRequest.map(({ id }) => ({ id, duplicate: true })),
      );
    }
    const withIds = joined(2).map((event, number) => ({ ...event, id: `own-id-${Date.now()}-${number}` }));
    await assert.rejects(loser.send(withIds), client.BatonUnreachable);
  });

  it('returns the generated ids after an error that may pass, and not after a rejection', async () => {
    for (const [status, kind] of [
      [500, client.EventsLeft],
      [503, client.EventsLeft],
      [429, client.EventsLeft],
      [401, client.BatonProblem],
      [403, client.BatonProblem],
      [422, client.BatonProblem],
    ] as const) {
      const { fetch: answering } = counting(() => new Response('', { status }));
      const answered = connect({ fetch: answering, retries: 0 }).events;
      await assert.rejects(answered.send(joined(2)), kind, String(status));
    }
  });

  it('returns the event kinds, each with a sample', async () => {
    const types = await baton.events.types();
    assert.deepEqual(
      types.map(({ event }) => event),
      [...client.EVENT_KINDS],
    );
    assert.ok(Array.isArray(await baton.sourceAddresses()));
  });

  it('lists, changes, tests and deletes webhooks, and reads their statistics', async () => {
    const webhook = await createWebhook({ name: 'To manage' });
    const names: string[] = [];
    for await (const { name } of baton.webhooks.list()) names.push(name);
    assert.ok(names.includes('To manage'));
    assert.equal((await baton.webhooks.change(webhook.id, { name: 'Changed' })).name, 'Changed');
    receiver.answering(418);
    const attempt = await baton.webhooks.test(webhook.id, { event: 'issue.updated' });
    receiver.answering(204);
    assert.equal(attempt.response?.status, 418);
    assert.ok(Array.isArray((await baton.webhooks.preview(webhook.id)).data));
    assert.deepEqual(await baton.webhooks.recover(webhook.id, { since: '2026-01-01T00:00:00Z' }), {
      count: 0,
    });
    assert.equal((await baton.webhooks.stats(webhook.id, { hours: 2 })).total, 0);
    assert.equal((await baton.webhooks.get(webhook.id)).name, 'Changed');
    await baton.webhooks.delete(webhook.id);
    await assert.rejects(baton.webhooks.get(webhook.id), { status: 404 });
  });
});
