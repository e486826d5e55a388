import assert from 'node:assert/strict';
import { EVENT_KINDS } from '../../src/domain/webhooks/event-kinds.ts';
import { sampleData } from '../../src/domain/webhooks/event-samples.ts';
import { useReceiver } from '../support/callback-receiver.ts';
import { keyWith } from './keys.ts';
import { useWorld } from '../support/world.ts';

describe('an accepted event', () => {
  const world = useWorld();
  const receiver = useReceiver();
  let key: string;
  before(async () => {
    key = await keyWith(world, ['events:write', 'webhooks:write']);
    const events = EVENT_KINDS.map((event) => ({ event, filters: [] }));
    const body = { name: 'All', url: receiver.url, events, active: true };
    assert.equal((await world.send('POST', '/api/v1/webhooks', { key, body })).status, 201);
  });

  it('is delivered with its exact data, and stored in the order of the request, for every kind', async () => {
    const datas = EVENT_KINDS.map((kind, index) => {
      const plain = JSON.stringify(sampleData(kind), null, index % 3);
      return plain.replace(/\}$/, `, "odd" : [ 1.50, -0, 1E+2, "\\u00e9é\\ud83d/\\/" ],"__proto__":{}}`);
    });
    const events = EVENT_KINDS.map(
      (kind, index) => `{"data":${datas[index]}, "event":"${kind}","id":"arrive-${index}"}`,
    );
    const headers = { 'Content-Type': 'application/json' };
    const sent = { key, raw: `{"events":[${events.join(' ,\n')}]}`, headers };
    assert.equal((await world.send('POST', '/api/v1/events', sent)).status, 202);
    const requests = await receiver.receives(EVENT_KINDS.length);
    const bodies = new Map(requests.map(({ body }) => [JSON.parse(body.toString()).id as string, body]));
    for (const [index, kind] of EVENT_KINDS.entries()) {
      const body = bodies.get(`arrive-${index}`)?.toString() ?? '';
      assert.ok(body.endsWith(`,"data":${datas[index]}}`), body);
      assert.equal(JSON.parse(body).event, kind);
    }
    const seqs = await world.database.em
      .getConnection()
      .execute<{ id: string }[]>(
        `select id from events where workspace_id = ? and id like 'arrive-%' order by seq`,
        [world.installation.workspace_id],
      );
    assert.deepEqual(
      seqs.map(({ id }) => id),
      EVENT_KINDS.map((_, index) => `arrive-${index}`),
    );
  });

  it('is delivered once if it is sent several times', async () => {
    const before = receiver.requests.length;
    const body = { id: 'once', event: 'user.joined', data: { user: { id: '1' } } };
    await Promise.all(Array.from({ length: 10 }, () => world.send('POST', '/api/v1/events', { key, body })));
    await world.send('POST', '/api/v1/events', { key, body: { ...body, id: 'last' } });
    const idOf = (sent: Buffer): string => JSON.parse(sent.toString()).id;
    const arrived = async () => (await receiver.receives(before + 2)).slice(before);
    assert.deepEqual((await arrived()).map((request) => idOf(request.body)).toSorted(), ['last', 'once']);
  });
});
