import assert from 'node:assert/strict';
import { EVENT_KINDS } from '../../src/domain/webhooks/event-kinds.ts';
import { sampleData } from '../../src/domain/webhooks/event-samples.ts';
import { eventually } from '../support/eventually.ts';
import { keyWith } from './keys.ts';
import { addWorkspace } from '../support/people.ts';
import { assertProblem, assertWithin } from './problems.ts';
import { type Received, type World, useOwnWorld, useWorld } from '../support/world.ts';

const PATH = '/api/v1/events';
const MIB = 1_048_576;
type Stored = { id: string; event: string; body: string; seq: string; group_id: string; timestamp: string };

describe('POST /api/v1/events', () => {
  const world = useWorld();
  let key: string;
  before(async () => {
    key = await keyWith(world, ['events:write', 'webhooks:read']);
  });

  const post = (body: unknown, headers: Record<string, string> = {}) =>
    world.send('POST', PATH, { key, body, headers });
  const postText = (raw: string | Uint8Array<ArrayBuffer>, type = 'application/json') =>
    world.send('POST', PATH, { key, raw, headers: { 'Content-Type': type } });
  const stored = async (id: string): Promise<Stored | null> => (await storedEvents(world, [id]))[0] ?? null;
  const countStored = () => countOf(world, 'events');
  /** Asserts that a request is rejected and stores nothing. */
  async function refused(sending: () => Promise<Received>, status: number, code: string): Promise<Received> {
    const before = await countStored();
    const received = await sending();
    assertProblem(received, status, code);
    assert.equal(await countStored(), before, 'nothing is stored');
    return received;
  }
  const issue = { id: '1' };

  describe('with one event', () => {
    it('returns its id, and stores its data', async () => {
      const data = sampleData('issue.created');
      const { status, json } = await post({ event: 'issue.created', data });
      assert.equal(status, 202);
      assert.deepEqual(Object.keys(json), ['id', 'duplicate']);
      assert.match(json.id, /^evt_[0-9a-f]{32}$/);
      assert.equal(json.duplicate, false);
      const { body } = (await stored(json.id)) as Stored;
      assert.deepEqual(JSON.parse(body).data, data);
    });

    it('stores the payload for receivers, with the exact text of data', async () => {
      const data =
        '{ "issue" : {"points":1.50,"id":"\\u0031","x":12345678901234567890,\n"é":"\\ud83d\\u0000/"}}';
      const raw = `\uFEFF {"data":{"issue":{"id":"no"}},"id":"byte-exact","timestamp":"2026-01-31T13:00:00.5+01:00",\r\n"event":"issue.created","d\\u0061ta": ${data} } `;
      assert.equal((await postText(raw)).status, 202);
      const { body, timestamp } = (await stored('byte-exact')) as Stored;
      const workspace = JSON.stringify({ id: world.installation.workspace_id, name: 'Test' });
      assert.equal(
        body,
        `{"id":"byte-exact","event":"issue.created","timestamp":"2026-01-31T12:00:00.500Z","workspace":${workspace},"data":${data}}`,
      );
      assert.equal(new Date(timestamp).toISOString(), '2026-01-31T12:00:00.500Z');
    });

    it('uses the time of arrival if the event has no timestamp', async () => {
      const from = Date.now();
      const { json } = await post({ event: 'issue.created', data: { issue } });
      const { timestamp } = JSON.parse(((await stored(json.id)) as Stored).body);
      assertWithin(timestamp, from);
      assert.match(timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    });

    it('accepts ids of up to 255 visible ASCII characters', async () => {
      for (const id of ['!', `~"\\/'<>{}`, 'a'.repeat(255)]) {
        const { status, json } = await post({ id, event: 'issue.created', data: { issue } });
        assert.equal(status, 202, id);
        assert.deepEqual(json, { id, duplicate: false });
        assert.equal(JSON.parse(((await stored(id)) as Stored).body).id, id);
      }
    });

    it('accepts unknown fields, and known ones that are null', async () => {
      const data = {
        issue: { id: '1', assignee: null, priority: null, custom: [{ deep: true }] },
        actor: null,
        more: 1,
      };
      assert.equal((await post({ event: 'issue.updated', data })).status, 202);
    });

    it('accepts a session of an owner, but not a key without the scope', async () => {
      const cookie = await world.signIn();
      const body = { event: 'issue.created', data: { issue } };
      assert.equal((await world.send('POST', PATH, { ...world.as(cookie), body })).status, 202);
      const weak = await keyWith(world, ['tasks:read', 'webhooks:write']);
      await refused(() => world.send('POST', PATH, { key: weak, body }), 403, 'forbidden');
      await refused(() => world.send('POST', PATH, { key: null, body }), 401, 'unauthenticated');
    });
  });

  describe('with a list of events', () => {
    it('returns and stores the events in their order', async () => {
      const events = Array.from({ length: 500 }, (_, index) => ({
        id: `list-${(index * 7) % 500}`,
        event: 'issue.created',
        data: { issue: { id: String(index) } },
      }));
      const { status, json } = await post({ events });
      assert.equal(status, 202);
      assert.deepEqual(
        json.data,
        events.map(({ id }) => ({ id, duplicate: false })),
      );
      const rows = await storedEvents(
        world,
        events.map(({ id }) => id),
      );
      assert.deepEqual(
        rows.map(({ id }) => id),
        events.map(({ id }) => id),
      );
      assert.equal(new Set(rows.map(({ group_id }) => group_id)).size, 1, 'a request is never split');
    });

    it('stores the exact text of each data', async () => {
      const datas = ['{"issue":{"id":"1","n":1.0}}', '{ "issue":{"id":"2"},"a":"]}\\"" }'];
      const raw = `{ "events" : [ {"id":"la","event":"issue.created","data":${datas[0]}} ,\n{"data": ${datas[1]},"id":"lb","event":"issue.created"}]}`;
      assert.equal((await postText(raw)).status, 202);
      for (const [index, row] of (await storedEvents(world, ['la', 'lb'])).entries()) {
        assert.ok(row.body.endsWith(`"data":${datas[index]}}`), row.body);
      }
    });

    it('returns a duplicate for the same event twice, and 409 for one id with two contents', async () => {
      const one = { id: 'twice', event: 'issue.created', data: { issue } };
      const { json } = await post({ events: [one, { ...one, data: { issue: { ...issue } } }] });
      assert.deepEqual(json.data, [
        { id: 'twice', duplicate: false },
        { id: 'twice', duplicate: true },
      ]);
      const other = { ...one, id: 'torn' };
      const received = await refused(
        () => post({ events: [other, { ...other, data: { issue: { id: '2' } } }] }),
        409,
        'conflict',
      );
      assert.match(received.json.detail, /torn/);
    });

    it('stores all events or none', async () => {
      const good = { event: 'issue.created', data: { issue } };
      const { json } = await refused(
        () => post({ events: [good, { ...good, event: 'issue.exploded' }, { ...good, data: {} }] }),
        422,
        'validation_failed',
      );
      const pointers = json.errors.map(({ pointer }: { pointer: string }) => pointer);
      assert.deepEqual(pointers, ['/events/1/event', '/events/2/data/issue']);
    });
  });

  describe('with a repeated event', () => {
    const event = (id: string, members: object = {}) => ({
      id,
      event: 'issue.updated',
      timestamp: '2026-01-31T12:00:00Z',
      data: { issue: { id: '1', title: 'T' }, changes: [] },
      ...members,
    });

    it('returns a duplicate for the same content in any notation', async () => {
      assert.equal((await post(event('same'))).json.duplicate, false);
      const before = await countStored();
      const raw = JSON.stringify(event('same'), null, 2);
      assert.deepEqual((await postText(raw)).json, { id: 'same', duplicate: true });
      assert.deepEqual((await post({ events: [event('same')] })).json.data, [
        { id: 'same', duplicate: true },
      ]);
      assert.equal(await countStored(), before);
    });

    it('returns 409 for another content', async () => {
      await post(event('other'));
      const other = event('other', { timestamp: undefined });
      const received = await refused(() => post(other), 409, 'conflict');
      assert.match(received.json.detail, /other/);
    });

    it('stores nothing of a list with a conflict, and the new events of a list with a duplicate', async () => {
      await post(event('known'));
      const conflict = [event('new-1'), event('known', { event: 'issue.created' })];
      await refused(() => post({ events: conflict }), 409, 'conflict');
      const { json } = await post({ events: [event('new-1'), event('known'), event('new-2')] });
      assert.deepEqual(
        json.data.map(({ duplicate }: { duplicate: boolean }) => duplicate),
        [false, true, false],
      );
    });

    it('stores the event once for 20 simultaneous requests in both forms', async () => {
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          index % 2 === 0 ? post(event('crowd')) : post({ events: [event('crowd')] }),
        ),
      );
      assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([202]));
      const duplicates = answers.map(({ json }) => (json.data ? json.data[0] : json).duplicate);
      assert.equal(duplicates.filter((duplicate) => !duplicate).length, 1);
      assert.equal((await storedEvents(world, ['crowd'])).length, 1);
    });

    it('accepts one of two contents in 20 simultaneous requests', async () => {
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          post(event('rivals', { data: { issue: { id: String(index % 2) } } })),
        ),
      );
      const statuses = answers.map(({ status }) => status);
      assert.equal(statuses.filter((status) => status === 202).length, 10);
      assert.equal(statuses.filter((status) => status === 409).length, 10);
    });

    it('accepts the same id in another workspace', async () => {
      const key2 = await addWorkspace(world);
      await post(event('ours'));
      const body = event('ours', { event: 'issue.deleted' });
      const { json } = await world.send('POST', PATH, { key: key2, body });
      assert.deepEqual(json, { id: 'ours', duplicate: false });
      const { rows } = await query(world, "select body from events where id = 'ours' order by seq");
      const workspaces = rows.map(({ body: payload }) => JSON.parse(String(payload)).workspace.name);
      assert.deepEqual(workspaces, ['Test', 'Another']);
    });
  });

  describe('rejects', () => {
    it('a body with errors, and names all of them', async () => {
      const body = { id: '', event: 'issue.created', timestamp: 'now', data: { issue: {} }, foo: 1 };
      const { json } = await refused(() => post(body), 422, 'validation_failed');
      const named = json.errors.map(({ pointer }: { pointer: string }) => pointer);
      assert.deepEqual(named.toSorted(), ['/data/issue/id', '/foo', '/id', '/timestamp']);
      for (const { message, code } of json.errors) assert.ok(message.length > 5 && code !== undefined);
    });

    it('bodies that are empty, not JSON, or of another media type', async () => {
      await refused(() => postText(''), 400, 'malformed_json');
      await refused(() => postText('{"event":'), 400, 'malformed_json');
      await refused(() => postText(Uint8Array.from([0x22, 0xff, 0x22])), 400, 'malformed_json');
      await refused(() => postText('{}', 'text/plain'), 415, 'unsupported_media_type');
      await refused(() => postText('{}', 'application/cloudevents+xml'), 415, 'unsupported_media_type');
    });

    it('a body of 1 MiB and a byte, but not one of 1 MiB', async () => {
      const sized = (id: string, bytes: number) => {
        const [head, tail] = [
          `{"id":"${id}","event":"issue.created","data":{"issue":{"id":"1"},"x":"`,
          '"}}',
        ];
        return `${head}${'x'.repeat(bytes - head.length - tail.length)}${tail}`;
      };
      assert.equal((await postText(sized('full', MIB))).status, 202);
      assert.ok(((await stored('full')) as Stored).body.length > MIB);
      await refused(() => postText(sized('over', MIB + 1)), 413, 'payload_too_large');
    });

    it('extremely deep nesting', async () => {
      const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`;
      const raw = `{"event":"issue.created","data":{"issue":{"id":"1"},"x":${deep}}}`;
      await refused(() => postText(raw), 422, 'validation_failed');
      await refused(() => postText(deep), 422, 'validation_failed');
    });
  });

  describe('with CloudEvents', () => {
    const ONE = 'application/cloudevents+json';
    const MANY = 'application/cloudevents-batch+json; charset=utf-8';
    const event = (members: object = {}) => ({
      specversion: '1.0',
      id: 'ce-1',
      source: '/shop',
      type: 'issue.created',
      time: '2026-01-31T12:00:00Z',
      data: { issue },
      ...members,
    });

    it('accepts one event, and ignores other attributes', async () => {
      const extras = { subject: 'SHOP-1', datacontenttype: 'application/json', dataschema: 'x', tracefoo: 1 };
      const { status, json } = await postText(JSON.stringify(event(extras)), ONE);
      assert.equal(status, 202);
      assert.deepEqual(json, { id: 'ce-1', duplicate: false });
      const body = JSON.parse(((await stored('ce-1')) as Stored).body);
      assert.deepEqual(Object.keys(body), ['id', 'event', 'timestamp', 'workspace', 'data']);
      assert.equal(body.event, 'issue.created');
      assert.equal(body.timestamp, '2026-01-31T12:00:00.000Z');
    });

    it('recognizes a duplicate in the native format', async () => {
      await postText(JSON.stringify(event({ id: 'ce-own' })), ONE);
      const own = {
        id: 'ce-own',
        event: 'issue.created',
        timestamp: '2026-01-31T12:00:00Z',
        data: { issue },
      };
      assert.deepEqual((await post(own)).json, { id: 'ce-own', duplicate: true });
    });

    it('accepts a batch, and stores the exact text of data', async () => {
      const raw = `[${JSON.stringify(event({ id: 'ce-2' }))}, {"data": { "issue":{"id":"1","n":1.0}},"specversion":"1.0","id":"ce-3","source":"s","type":"issue.created"}]`;
      const { status, json } = await postText(raw, MANY);
      assert.equal(status, 202);
      assert.deepEqual(
        json.data.map(({ id }: { id: string }) => id),
        ['ce-2', 'ce-3'],
      );
      assert.ok(((await stored('ce-3')) as Stored).body.endsWith('"data":{ "issue":{"id":"1","n":1.0}}}'));
    });

    it('rejects an invalid event, alone and in a batch', async () => {
      const wrong = event({ specversion: '0.3' });
      const alone = await refused(() => postText(JSON.stringify(wrong), ONE), 422, 'validation_failed');
      assert.equal(alone.json.errors[0].pointer, '/specversion');
      const many = JSON.stringify([event({ id: 'ce-good' }), wrong]);
      const { json } = await refused(() => postText(many, MANY), 422, 'validation_failed');
      assert.equal(json.errors[0].pointer, '/1/specversion');
    });
  });

  it('records that the groups have been started', async () => {
    await eventually('all groups are recorded as started', async () => {
      const { rows } = await query(
        world,
        'select count(*)::int as n from event_groups where started_at is null',
      );
      return rows[0]?.['n'] === 0;
    });
    const { rows } = await query(
      world,
      `select count(*)::int as n from event_groups g where not exists (select from events where group_id = g.id)`,
    );
    assert.equal(rows[0]?.['n'], 0, 'no group is empty');
  });
});

describe('the events API', () => {
  const world = useOwnWorld({
    worker: false,
    environment: {
      SOURCE_ADDRESSES: '203.0.113.7, 2001:DB8::7,203.0.113.8/32',
      EVENTS_RATE_LIMIT_PER_SECOND: '100',
      RATE_LIMIT_PER_SECOND: '1',
      RATE_LIMIT_BURST: '10',
    },
  });

  it('returns every kind with a schema and a complete sample', async () => {
    const key = await keyWith(world, ['webhooks:read']);
    const { status, json } = await world.send('GET', '/api/v1/event-types', { key });
    assert.equal(status, 200);
    assert.deepEqual(
      json.data.map(({ event }: { event: string }) => event),
      EVENT_KINDS,
    );
    for (const { event, description, schema, sample } of json.data) {
      assert.ok(description.length > 5);
      assert.deepEqual(Object.keys(sample), ['id', 'event', 'timestamp', 'workspace', 'data']);
      assert.equal(sample.event, event);
      assert.deepEqual(sample.data, sampleData(event));
      assert.equal(schema.properties.event.const, event);
      assert.deepEqual(schema.required, ['id', 'event', 'timestamp', 'workspace', 'data']);
    }
  });

  it('returns the kinds to senders of events, but not to keys for tasks', async () => {
    const statusFor = async (scope: 'events:write' | 'tasks:read') =>
      (await world.send('GET', '/api/v1/event-types', { key: await keyWith(world, [scope]) })).status;
    assert.deepEqual([await statusFor('events:write'), await statusFor('tasks:read')], [200, 403]);
  });

  it('returns the source addresses of deliveries without credentials', async () => {
    const { status, json } = await world.send('GET', '/api/v1/source-addresses', { key: null });
    assert.equal(status, 200);
    assert.deepEqual(json, { addresses: ['203.0.113.7/32', '2001:db8::7/128', '203.0.113.8/32'] });
  });

  it('has a separate rate limit that counts events', async () => {
    const key = await keyWith(world, ['events:write']);
    const events = (count: number) => ({
      events: Array.from({ length: count }, () => ({ event: 'issue.created', data: { issue: { id: '1' } } })),
    });
    const first = await world.send('POST', PATH, { key, body: events(500) });
    assert.equal(first.status, 202);
    assert.match(first.headers.get('ratelimit-policy') ?? '', /^"events";q=500;/);
    const second = await world.send('POST', PATH, { key, body: events(500) });
    assertProblem(second, 429, 'rate_limited');
    const seconds = Number(second.headers.get('retry-after'));
    assert.ok(seconds >= 1 && seconds <= 5, String(seconds));
  });
});

type Row = Record<string, unknown>;

async function query(world: World, sql: string, values: unknown[] = []): Promise<{ rows: Row[] }> {
  const pool = await world.database.em.getConnection().getNativeClient();
  return await pool.query(sql, values);
}

async function countOf(world: World, table: string): Promise<number> {
  const { rows } = await query(world, `select count(*)::int as n from ${table}`);
  return rows[0]?.['n'] as number;
}

async function storedEvents(world: World, ids: string[]): Promise<Stored[]> {
  const { rows } = await query(
    world,
    'select * from events where id = any($1) and workspace_id = $2 order by seq',
    [ids, world.installation.workspace_id],
  );
  return rows as Stored[];
}
