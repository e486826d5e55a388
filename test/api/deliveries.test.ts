import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { queryBuilderOf } from '../../src/database/database.ts';
import type { Database } from '../../src/database/database.ts';
import { derivedUuid } from '../../src/database/common/ids.ts';
import { createRecentEvents } from '../../src/api/webhooks/recent-events.ts';
import { listRecentEvents } from '../../src/database/webhooks/events.ts';
import { RECENT_EVENTS } from '../../src/domain/common/limits.ts';
import { sampleData } from '../../src/domain/webhooks/event-samples.ts';
import { deliveryWaitMs } from '../../src/domain/common/retry-schedules.ts';
import { connectTemporal } from '../../src/runtime/temporal.ts';
import { taskQueues } from '../../src/temporal/task-messages.ts';
import { eventually } from '../support/eventually.ts';
import { addPerson, addWorkspace } from '../support/people.ts';
import { assertProblem, CLOCK_MS } from './problems.ts';
import { useWebhooks } from '../support/webhooks.ts';
import { type Received, useWorld } from '../support/world.ts';

type Row = Received['json'];

const FIRST_WAIT_MS = deliveryWaitMs(1) ?? 0;

describe('deliveries', () => {
  const world = useWorld();
  const { receiver, create: webhook, publish } = useWebhooks(world);

  const edit = (id: string, body: Record<string, unknown>) =>
    world.send('PATCH', `/api/v1/webhooks/${id}`, { body });
  const list = async (id: string, query = ''): Promise<Row[]> => {
    const received = await world.send('GET', `/api/v1/webhooks/${id}/deliveries${query}`);
    assert.equal(received.status, 200, received.text);
    return received.json.data;
  };
  const detail = async (id: string): Promise<Row> =>
    (await world.send('GET', `/api/v1/deliveries/${id}`)).json;
  const retry = (id: string, body?: Record<string, unknown>) =>
    world.send('POST', `/api/v1/deliveries/${id}/retry`, body ? { body } : {});
  /** Waits until the only delivery, or that of the event, is as expected. */
  const delivered = (hook: string, isExpected: (row: Row) => boolean, eventId?: string): Promise<Row> =>
    eventually('the delivery is as expected', async () => {
      const rows = await list(hook);
      const row = rows.find((one) => eventId === undefined || one.event_id === eventId);
      return row && isExpected(row) ? row : null;
    });
  const is = (status: string) => (row: Row) => row.status === status;
  const set = async (id: string, status: string, more = '') => {
    await sql`update deliveries set status = ${status} ${sql.raw(more)} where id = ${id}`.execute(
      queryBuilderOf(world.database),
    );
  };

  it('show their signatures only to callers who can retry them', async () => {
    const hook = await webhook({ secret: 'a-secret-that-is-never-shown', standard_webhooks: true });
    await publish();
    const { id } = await delivered(hook, is('succeeded'));
    const viewer = world.as(await addPerson(world, await world.signIn(), 'viewer'));
    const { json: masked } = await world.send('GET', `/api/v1/deliveries/${id}`, viewer);
    const { attempts: whole } = await detail(id);
    const [seen, sent] = [masked.attempts[0].request.headers, whole[0].request.headers];
    assert.match(sent['x-service-signature'], /^sha256=[0-9a-f]{64}$/);
    for (const name of ['x-service-signature', 'webhook-signature']) {
      assert.notEqual(seen[name], sent[name]);
      assert.ok(!seen[name].includes(sent[name].slice(-10)));
    }
    assert.equal(seen['x-service-delivery'], id);
  });

  it('contain no secret, and for viewers no signature, even if the receiver repeats its request', async () => {
    receiver.answering(({ headers }, response) => {
      const repeated = String(headers['x-webhook-secret']);
      response.writeHead(200, { 'X-Repeated': repeated }).end(JSON.stringify(headers));
      return undefined;
    });
    const secret = 'a-secret-that-is-never-"shown"';
    const hook = await webhook({ secret, include_secret_header: true, standard_webhooks: true });
    await publish();
    const { id } = await delivered(hook, is('succeeded'));
    const { attempts } = await detail(id);
    assert.equal(attempts[0].response.headers['x-repeated'], '********');
    assert.ok(!JSON.stringify(attempts[0].response).includes('never-'));
    const [request] = await receiver.receives(1);
    const signature = String(request?.headers['x-service-signature']);
    assert.ok(attempts[0].response.body.includes(signature));
    const viewer = world.as(await addPerson(world, await world.signIn(), 'viewer'));
    const { text } = await world.send('GET', `/api/v1/deliveries/${id}`, viewer);
    for (const name of ['x-service-signature', 'webhook-signature']) {
      assert.ok(!text.includes(String(request?.headers[name]).slice(-40)), name);
    }
  });

  it('carry the time of events of any year', async () => {
    const hook = await webhook();
    for (const timestamp of [
      '0031-12-01T00:00:00.000Z',
      '0044-03-15T12:00:00.000Z',
      '9999-12-31T23:59:59.999Z',
    ]) {
      const before = receiver.requests.length;
      const body = { event: 'issue.created', timestamp, data: sampleData('issue.created') };
      const { json } = await world.send('POST', '/api/v1/events', { body });
      const row = await delivered(hook, is('succeeded'), json.id);
      assert.equal(receiver.requests[before]?.headers['x-service-timestamp'], timestamp);
      assert.equal((await detail(row.id)).event_timestamp, timestamp);
      const preview = await world.send('POST', `/api/v1/webhooks/${hook}/preview`, { body: {} });
      assert.equal(preview.json.data[0].timestamp, timestamp);
    }
  });

  describe('the delivery log', () => {
    it('contains the request and the response of a successful attempt', async () => {
      receiver.answering((_request, response) => {
        response.writeHead(201, { 'X-Note': 'thanks' }).end('got it');
        return undefined;
      });
      const hook = await webhook({ secret: 'a-secret-that-is-never-shown', include_secret_header: true });
      const eventId = await publish();
      const row = await delivered(hook, is('succeeded'));
      const [request] = await receiver.receives(1);
      assert.equal(request?.headers['x-service-delivery'], row.id);
      const { attempts, event_timestamp: occurred, received_at: came, ...listed } = await detail(row.id);
      assert.deepEqual(listed, row);
      const times = [occurred, came, attempts[0].attempted_at].map((time) => Date.parse(time));
      for (const [index, time] of times.slice(1).entries())
        assert.ok((times[index] ?? 0) <= time + CLOCK_MS, times.join());
      assert.deepEqual(
        { ...row, id: null, created_at: null, response_ms: null },
        {
          id: null,
          webhook_id: hook,
          event_id: eventId,
          event: 'issue.created',
          status: 'succeeded',
          test: false,
          response_status: 201,
          failure: null,
          response_ms: null,
          attempts_count: 1,
          next_attempt_at: null,
          scheduled_at: null,
          reason: null,
          created_at: null,
          about: 'SHOP-142 The cart forgets its coupon Ben Alvarez iss_481',
        },
      );
      assert.equal(attempts.length, 1);
      const [attempt] = attempts;
      assert.equal(attempt.trigger, 'automatic');
      assert.equal(attempt.number, 1);
      assert.equal(attempt.request.method, 'POST');
      assert.equal(attempt.request.body, request?.body.toString());
      assert.equal(attempt.request.headers['x-webhook-secret'], '********');
      assert.equal(attempt.request.headers['x-service-signature'], request?.headers['x-service-signature']);
      assert.equal(attempt.response.status, 201);
      assert.equal(attempt.response.headers['x-note'], 'thanks');
      assert.equal(attempt.response.body, 'got it');
      assert.equal(attempt.response.truncated, false);
      assert.equal(attempt.address, '127.0.0.1');
      assert.ok(attempt.timings.total_ms > 0);
      assert.ok(!JSON.stringify(attempt).includes('a-secret-that-is-never-shown'));
      assert.ok(!world.logged().includes('a-secret-that-is-never-shown'));
    });

    it('contains a failure and the time of the next attempt', async () => {
      receiver.answering(500);
      const hook = await webhook();
      await publish();
      const row = await delivered(hook, is('retrying'));
      assert.equal(row.failure, 'status');
      assert.equal(row.response_status, 500);
      const [attempt] = (await detail(row.id)).attempts;
      assertFirstWait(row, attempt);
      assert.ok(attempt.message.length > 0);
    });

    it('contains the reason of a skipped delivery', async () => {
      const filters = [{ field: 'status', values: ['Done'] }];
      const hook = await webhook({ events: [{ event: 'issue.updated', filters }] });
      await publish('user.joined');
      await publish('issue.updated');
      const row = await delivered(hook, is('skipped'));
      assert.match(row.reason, /^status is "In Progress", not "Done"/);
      assert.equal((await list(hook)).length, 1, 'other kinds create no row');
      assert.deepEqual((await detail(row.id)).attempts, []);
    });

    it('is still readable after its event was removed', async () => {
      const hook = await webhook();
      await publish();
      const { id, event_id: eventId } = await delivered(hook, is('succeeded'));
      assert.match((await detail(id)).event_timestamp, /^20/);
      await sql`
        with removed as (delete from events where id = ${eventId} returning group_id)
        delete from event_groups where id in (select group_id from removed)
      `.execute(queryBuilderOf(world.database));
      const { event_timestamp, received_at, attempts } = await detail(id);
      assert.deepEqual([event_timestamp, received_at, attempts.length], [null, null, 1]);
    });

    it('can be searched by word, by prefix and by id', async () => {
      const hook = await webhook();
      const issue = { ...(sampleData('issue.created') as { issue: object }).issue };
      const wanted = await publish('issue.created', {
        issue: { ...issue, id: 'a', key: 'ZOO-7', title: "Feed the zebra's foal" },
      });
      const other = await publish('issue.created', {
        issue: { ...issue, id: 'b', key: 'ZOO-8', title: 'Wash the lion' },
      });
      const row = await delivered(hook, is('succeeded'), wanted);
      await delivered(hook, is('succeeded'), other);
      const found = async (text: string) =>
        (await list(hook, `?text=${encodeURIComponent(text)}`)).map(({ event_id: id }) => id);
      for (const text of [
        'zebra',
        'ZEB',
        'feed zeb',
        'zoo-7',
        '7',
        'foal feed',
        "zebra's",
        "ZEBRA'S fo",
        wanted,
        wanted.slice(0, 20),
        `${wanted} zebra`,
        `created ${wanted}`,
        'issue.created zebra',
        'foal CREA',
        row.id,
        ` ${row.id.toUpperCase()} `,
      ]) {
        assert.deepEqual(await found(text), [wanted], text);
      }
      assert.deepEqual((await found('zoo')).toSorted(), [wanted, other].toSorted());
      for (const text of ['issue.created', 'ISSUE', 'created', 'issue created'])
        assert.equal((await found(text)).length, 2, text);
      for (const text of [
        'zebra lion',
        'giraffe',
        "'",
        "zebra' | 'lion",
        "zebra':* | 'lion",
        'oo-7',
        'zebra\\',
        '\\',
        '& | !',
        ':*',
        '<->',
        randomUUID(),
        '%',
        wanted.toUpperCase(),
        `${wanted.slice(0, 20)} zebra`,
        `${wanted} lion`,
        `${wanted}0`,
        'issue.updated zebra',
        'updated',
      ]) {
        assert.deepEqual(await found(text), [], text);
      }
    });

    it('can be searched by words of any length and alphabet', async () => {
      const hook = await webhook();
      const issue = { ...(sampleData('issue.created') as { issue: object }).issue };
      const title = `${'漢'.repeat(900)} 😀 ÄRGER \t mit\nÖL`;
      const wanted = await publish('issue.created', { issue: { ...issue, title } });
      await delivered(hook, is('succeeded'), wanted);
      for (const text of ['漢漢', '😀', 'ärger', 'Ärg mit öl'])
        assert.equal((await list(hook, `?text=${encodeURIComponent(text)}`)).length, 1, text);
    });

    it('finds a delivery by the time of its creation, also if its event arrived a day earlier', async () => {
      const hook = await webhook();
      await publish();
      const { id } = await delivered(hook, is('succeeded'));
      await sql`update deliveries set created_at = now() + interval '1 day' where id = ${id}`.execute(
        queryBuilderOf(world.database),
      );
      const found = async (name: string, ms: number) =>
        (await list(hook, `?${name}=${new Date(Date.now() + ms).toISOString()}`)).length;
      const hour = 3_600_000;
      assert.deepEqual(
        [await found('created_after', 23 * hour), await found('created_after', 25 * hour)],
        [1, 0],
      );
      assert.deepEqual(
        [await found('created_before', 23 * hour), await found('created_before', 25 * hour)],
        [0, 1],
      );
    });

    it('is still readable after the webhook is deleted', async () => {
      const hook = await webhook();
      await publish();
      const row = await delivered(hook, is('succeeded'));
      await world.send('DELETE', `/api/v1/webhooks/${hook}`);
      assert.equal((await list(hook))[0].id, row.id);
      assert.equal((await detail(row.id)).status, 'succeeded');
    });

    it('is hidden from other workspaces, and read-only for members', async () => {
      const hook = await webhook();
      await publish();
      const { id } = await delivered(hook, is('succeeded'));
      const otherWorkspaceKey = await addWorkspace(world);
      const paths = [`/api/v1/webhooks/${hook}/deliveries`, `/api/v1/deliveries/${id}`];
      for (const path of paths)
        assertProblem(await world.send('GET', path, { key: otherWorkspaceKey }), 404, 'not_found');
      const retried = await world.send('POST', `/api/v1/deliveries/${id}/retry`, { key: otherWorkspaceKey });
      assertProblem(retried, 404, 'not_found');
      for (const action of ['test', 'recover', 'preview']) {
        const body = { test: { event: 'issue.created' }, recover: { since: new Date() }, preview: {} }[
          action
        ];
        const received = await world.send('POST', `/api/v1/webhooks/${hook}/${action}`, {
          key: otherWorkspaceKey,
          body,
        });
        assertProblem(received, 404, 'not_found');
      }
      const owner = await world.signIn();
      const member = world.as(await addPerson(world, owner, 'member'));
      for (const path of paths) assert.equal((await world.send('GET', path, member)).status, 200);
      assertProblem(await world.send('POST', `/api/v1/deliveries/${id}/retry`, member), 403, 'forbidden');
      for (const path of ['/api/v1/deliveries/nonsense', `/api/v1/deliveries/${randomUUID()}`]) {
        assertProblem(await world.send('GET', path), 404, 'not_found');
      }
    });

    it('returns 400 with the names of invalid and unknown parameters', async () => {
      const hook = await webhook();
      const queries = {
        'status=lost&event=issue.eaten&created_after=yesterday&created_before=2026-01-01&text=&limit=0&colour=red':
          ['colour', 'created_after', 'created_before', 'event', 'limit', 'status', 'text'],
        [`text=${'x'.repeat(201)}&limit=201`]: ['limit', 'text'],
        'text=%00': ['text'],
        'cursor=x': ['cursor'],
      };
      for (const [query, parameters] of Object.entries(queries)) {
        const received = await world.send('GET', `/api/v1/webhooks/${hook}/deliveries?${query}`);
        assertProblem(received, 400, 'bad_request');
        const named = received.json.errors.map(({ parameter }: Row) => parameter);
        assert.deepEqual(named.toSorted(), parameters);
      }
    });
  });

  describe('a test delivery', () => {
    const test = (hook: string, body: unknown = { event: 'issue.created' }) =>
      world.send('POST', `/api/v1/webhooks/${hook}/test`, { body });

    it('sends a sample, and returns the response of the receiver', async () => {
      receiver.answering((_request, response) => {
        response.writeHead(418).end('no coffee');
        return undefined;
      });
      const hook = await webhook({ events: [{ event: 'user.joined' }], secret: 's' });
      const received = await test(hook, { event: 'sprint.started' });
      assert.equal(received.status, 200, received.text);
      const { delivery_id: id, ...attempt } = received.json;
      assert.equal(attempt.trigger, 'test');
      assert.equal(attempt.response.status, 418);
      assert.equal(attempt.response.body, 'no coffee');
      assert.equal(attempt.failure, 'status');
      const [request] = await receiver.receives(1);
      const payload = JSON.parse(request?.body.toString() ?? '');
      assert.equal(payload.event, 'sprint.started');
      assert.deepEqual(payload.data, sampleData('sprint.started'));
      assert.deepEqual(payload.workspace, { id: world.installation.workspace_id, name: 'Test' });
      assert.ok(request?.headers['x-service-signature']);
      const shown = await detail(id);
      assert.equal(shown.test, true);
      assert.equal(shown.status, 'failed');
      assert.equal(shown.next_attempt_at, null);
      assert.deepEqual(shown.attempts, [attempt]);
      const { json } = await world.send('GET', `/api/v1/webhooks/${hook}`);
      assert.equal(json.consecutive_failures, 0);
      assertProblem(await retry(id), 409, 'invalid_state');
    });

    it('is sent while the webhook is inactive or disabled, and does not enable it', async () => {
      const hook = await webhook({ active: false });
      assert.equal((await test(hook)).json.response.status, 204);
      await sql`update webhooks set active = true, consecutive_failures = 3 where id = ${hook}`.execute(
        queryBuilderOf(world.database),
      );
      assert.equal((await test(hook)).json.response.status, 204);
      const enabled = await world.send('GET', `/api/v1/webhooks/${hook}`);
      assert.equal(enabled.json.consecutive_failures, 3, 'a test does not count');
      await sql`update webhooks set active = true, consecutive_failures = 10, disabled_at = now() where id = ${hook}`.execute(
        queryBuilderOf(world.database),
      );
      assert.equal((await test(hook)).json.response.status, 204);
      const { json } = await world.send('GET', `/api/v1/webhooks/${hook}`);
      assert.deepEqual([json.status, json.consecutive_failures], ['disabled', 10]);
    });

    it('reports an unreachable URL', async () => {
      const hook = await webhook();
      await receiver.close();
      const { json } = await test(hook);
      assert.equal(json.failure, 'connection_failed');
      assert.equal(json.response, null);
    });

    it('is not sent to other webhooks or used in previews', async () => {
      const hook = await webhook();
      const other = await webhook();
      await test(hook);
      assert.equal((await list(other)).length, 0);
      const { json } = await world.send('POST', `/api/v1/webhooks/${hook}/preview`, { body: { limit: 100 } });
      assert.ok(json.data.every(({ event_id: id }: Row) => !id.startsWith('evt_test_')));
    });

    it('is sent exactly as its draft, and once', async () => {
      const hook = await webhook({ secret: 'quiet', include_secret_header: true });
      const data = { issue: { id: 'i1', key: 'MINE-1', title: 'Ours', extra: [1, 2] } };
      const testRequest = { event: 'issue.created', data };
      const shown = await world.send('POST', `/api/v1/webhooks/${hook}/test-request`, { body: testRequest });
      assert.equal(shown.status, 200, shown.text);
      assert.ok(!shown.text.includes('quiet'));
      assert.equal((await list(hook)).length, 0, 'a draft sends nothing');
      const { draft, request } = shown.json;
      const sent = await test(hook, { ...testRequest, draft });
      assert.equal(sent.status, 200, sent.text);
      assert.equal(sent.json.delivery_id, draft);
      assert.deepEqual(sent.json.request, request);
      const [received] = await receiver.receives(1);
      assert.equal(received?.body.toString(), request.body);
      assert.equal(received?.headers['x-service-signature'], request.headers['x-service-signature']);
      assert.deepEqual(JSON.parse(request.body).data, data);
      assertProblem(await test(hook, { ...testRequest, draft }), 409, 'conflict');
    });

    it('is rejected with the id of another delivery as the draft', async () => {
      const hook = await webhook();
      await publish();
      const { id } = await delivered(hook, is('succeeded'));
      assertProblem(await test(hook, { event: 'issue.created', draft: id }), 409, 'conflict');
    });

    it('is rejected with invalid data, an unknown draft and other members', async () => {
      const hook = await webhook();
      const rejected = async (body: unknown) => {
        const received = await test(hook, body);
        assertProblem(received, 422, 'validation_failed');
        return received.json.errors[0].pointer;
      };
      const event = 'issue.created';
      assert.equal(await rejected({ event, data: { issue: { title: 'no id' } } }), '/data/issue/id');
      assert.equal(
        await rejected({ event, draft: '0190a2b3-0000-7000-8000-000000000001' }),
        '/draft',
        'expired',
      );
      assert.equal(await rejected({ event, draft: randomUUID() }), '/draft', 'unknown');
      const ahead = derivedUuid(new Date(Date.now() + 120_000), 'a draft');
      assert.equal(await rejected({ event, draft: ahead }), '/draft', 'from the future');
      assert.equal(await rejected({ event: 'issue.eaten' }), '/event');
      assert.equal(await rejected({ event, more: 1 }), '/more');
      assert.equal(await rejected([]), '');
    });

    it('cannot be drafted by a viewer', async () => {
      const viewer = await addPerson(world, await world.signIn(), 'viewer');
      const testRequest = { ...world.as(viewer), body: { event: 'issue.created' } };
      const path = `/api/v1/webhooks/${await webhook()}/test-request`;
      assertProblem(await world.send('POST', path, testRequest), 403, 'forbidden');
    });
  });

  it('GET /api/v1/filter-values returns values of recent events', async () => {
    await publish('issue.updated');
    await publish('deployment.completed');
    const { status, json } = await world.send('GET', '/api/v1/filter-values');
    assert.equal(status, 200);
    const of = (event: string, field: string) =>
      json.data.find((one: Row) => one.event === event && one.field === field);
    assert.deepEqual(of('issue.updated', 'status').changed_to, ['In Progress']);
    assert.deepEqual(of('issue.updated', 'assignee').values, ['Ada Okafor']);
    assert.deepEqual(of('deployment.completed', 'project').values, ['SHOP']);
    assert.deepEqual(of('deployment.completed', 'environment').values, ['production']);
    assert.equal(of('deployment.completed', 'priority'), undefined);
    const other = await addWorkspace(world);
    const theirs = await world.send('GET', '/api/v1/filter-values', { key: other });
    assert.deepEqual(theirs.json.data, []);
  });

  describe('recent events', () => {
    it('are read up to a number of bytes, and once for simultaneous requests', async () => {
      const { workspace_id: workspaceId } = world.installation;
      const data = { ...sampleData('issue.created'), padding: 'x'.repeat(700_000) };
      for (let n = 0; n < 8; n += 1) await publish('issue.created', data);
      const newest = await publish();
      const found = await listRecentEvents(world.database, workspaceId, RECENT_EVENTS);
      assert.deepEqual([found.length, found[0]?.id], [6, newest]);
      const [one] = await listRecentEvents(world.database, workspaceId, { most: 100, bytes: 1 });
      assert.equal(one?.id, newest, 'at least one event is read');
      const read = createRecentEvents(world.database);
      const results = await Promise.all(Array.from({ length: 20 }, () => read(workspaceId)));
      assert.equal(new Set(results).size, 1);
      assert.notEqual(await read(workspaceId), results[0], 'a later request reads again');
    });

    it('are read again after a failed read', async () => {
      let isBroken = true;
      const database = {
        get em() {
          if (isBroken) throw new Error('no connection');
          return world.database.em;
        },
      } as Partial<Database> as Database;
      const read = createRecentEvents(database);
      await assert.rejects(read(world.installation.workspace_id), /no connection/);
      isBroken = false;
      await read(world.installation.workspace_id);
    });
  });

  describe('a preview', () => {
    it('returns the verdict and the reason for recent events', async () => {
      const hook = await webhook({ events: [{ event: 'issue.updated' }] });
      const [updated, joined] = [await publish('issue.updated'), await publish('user.joined')];
      const preview = async (path: string, body?: object) => {
        const received = await world.send('POST', `/api/v1/webhooks${path}`, body ? { body } : {});
        assert.equal(received.status, 200, received.text);
        const own = received.json.data.filter(({ event_id: id }: Row) => id === updated || id === joined);
        return own.map(({ event, verdict, reason }: Row) => [event, verdict, reason]);
      };
      assert.deepEqual(await preview(`/${hook}/preview`), [
        ['user.joined', 'unsubscribed', null],
        ['issue.updated', 'send', null],
      ]);
      const events = [
        { event: 'issue.updated', filters: [{ field: 'priority', values: ['Low'] }] },
        { event: 'user.joined' },
      ];
      const expected = [
        ['user.joined', 'send', null],
        ['issue.updated', 'skip', 'priority is "High", not "Low"'],
      ];
      assert.deepEqual(await preview(`/${hook}/preview`, { events }), expected);
      assert.deepEqual(await preview('/preview', { events, limit: 2 }), expected);
      assertProblem(
        await world.send('POST', '/api/v1/webhooks/preview', { body: {} }),
        422,
        'validation_failed',
      );
    });
  });

  it('are retried by the reconciler if their worker died before it started the retries', async () => {
    receiver.answering(500);
    const hook = await webhook();
    await publish();
    const { id } = await delivered(hook, is('retrying'));
    receiver.answering(204);
    // Simulates a worker that died after the change in the database and before the call of Temporal.
    await set(
      id,
      'retrying',
      ", generation = 1, retry_started = false, next_attempt_at = now(), updated_at = now() - interval '4 s'",
    );
    await delivered(hook, is('succeeded'));
    const { attempts } = await detail(id);
    assert.deepEqual(
      attempts.map(({ trigger }: Row) => trigger),
      ['automatic', 'automatic'],
    );
    assert.match(world.logged(), /started the retries of a delivery after its worker was interrupted/);
  });

  it('list their newest 100 attempts, with at most 8 MiB of payloads', async () => {
    const hook = await webhook();
    await publish('issue.created', { ...sampleData('issue.created'), padding: 'x'.repeat(700_000) });
    const { id } = await delivered(hook, is('succeeded'));
    await sql`
      insert into delivery_attempts (delivery_id, number, trigger, attempted_at, url, request_headers, timings)
      select delivery_id, number + more, 'manual', attempted_at, url, request_headers, timings
      from delivery_attempts, generate_series(1, 119) as more where delivery_id = ${id}
    `.execute(queryBuilderOf(world.database));
    const { attempts } = await detail(id);
    assert.deepEqual(
      attempts.map(({ number }: Row) => number),
      Array.from({ length: 100 }, (_, index) => 21 + index),
    );
    const payloads = attempts.map(({ request }: Row) => request.body);
    assert.ok(payloads.slice(0, 89).every((body: unknown) => body === null));
    assert.ok(payloads.slice(89).every((body: string) => body.includes('xxx')));
    assert.equal(payloads.length, 89 + 11, '11 payloads of 0.7 MB');
  });

  describe('a manual retry', () => {
    it('does not change the schedule of a retrying delivery, unless it succeeds', async () => {
      receiver.answering(500);
      const hook = await webhook();
      await publish();
      const before = await delivered(hook, is('retrying'));
      const failed = await retry(before.id);
      assert.equal(failed.status, 202, failed.text);
      const after = await delivered(hook, (row) => row.attempts_count === 2);
      assert.equal(after.status, 'retrying');
      assert.equal(after.next_attempt_at, before.next_attempt_at, 'the schedule is unchanged');
      receiver.answering(204);
      assert.equal((await retry(before.id)).status, 202);
      const done = await delivered(hook, is('succeeded'));
      assert.equal(done.next_attempt_at, null);
      const { attempts } = await detail(before.id);
      assert.deepEqual(
        attempts.map(({ number, trigger }: Row) => [number, trigger]),
        [
          [1, 'automatic'],
          [2, 'manual'],
          [3, 'manual'],
        ],
      );
      const ids = (await receiver.receives(3)).map(({ headers }) => headers['x-service-delivery']);
      assert.equal(new Set(ids).size, 1);
    });

    it('does not change the status of a succeeded delivery if it fails', async () => {
      const hook = await webhook();
      await publish();
      const { id } = await delivered(hook, is('succeeded'));
      receiver.answering(500);
      assert.equal((await retry(id)).status, 202);
      const row = await delivered(hook, ({ attempts_count: count }) => count === 2);
      assert.equal(row.status, 'succeeded');
      assert.equal(row.next_attempt_at, null);
    });

    it('makes one attempt for a failed, held or skipped delivery, and starts no schedule', async () => {
      const hook = await webhook();
      await publish();
      const { id } = await delivered(hook, is('succeeded'));
      receiver.answering(500);
      for (const [index, status] of ['failed', 'held', 'skipped'].entries()) {
        await set(id, status);
        assert.equal((await retry(id)).status, 202);
        const row = await delivered(hook, ({ attempts_count: count }) => count === index + 2);
        assert.deepEqual([row.status, row.next_attempt_at], [status, null]);
      }
      receiver.answering(200);
      assert.equal((await retry(id)).status, 202);
      await delivered(hook, is('succeeded'));
    });

    it('is made at its time, which is next_attempt_at until then', async () => {
      const hook = await webhook();
      await publish();
      const { id } = await delivered(hook, is('succeeded'));
      const at = new Date(Date.now() + 1_500);
      assert.equal((await retry(id, { at })).status, 202);
      const [, second] = await receiver.receives(2);
      assert.ok(second && second.at.getTime() >= at.getTime() - CLOCK_MS);
      const row = await delivered(hook, ({ attempts_count: count }) => count === 2);
      assert.equal(row.next_attempt_at, null);
      const later = new Date(Date.now() + 3_600_000).toISOString();
      assert.equal((await retry(id, { at: later })).json.next_attempt_at, later);
      assert.equal((await detail(id)).next_attempt_at, later);
    });

    it('shares a workflow with the others of its webhook', async () => {
      const hook = await webhook();
      const event = { event: 'issue.created', data: sampleData('issue.created') };
      const begun = new Date().toISOString();
      await world.send('POST', '/api/v1/events', {
        body: { events: Array.from({ length: 50 }, () => event) },
      });
      const attempted = (attempts: number) =>
        eventually(`${attempts} attempts of each`, async () => {
          const rows = await list(hook, '?limit=200');
          return rows.length === 50 && rows.every((row) => row.attempts_count === attempts) && rows;
        });
      const rows = await attempted(1);
      for (let round = 1; round <= 4; round += 1) {
        const answers = await Promise.all(rows.map(({ id }) => retry(id)));
        for (const { status, text } of answers) assert.equal(status, 202, text);
        await attempted(1 + round);
      }
      const { client, connection } = await connectTemporal();
      const queue = taskQueues(world.configuration.taskQueue).deliveries;
      const query = `TaskQueue = '${queue}' and StartTime >= '${begun}'`;
      const types = await eventually('the workflows are listed', async () => {
        const started = await Array.fromAsync(client.workflow.list({ query }));
        return started.some(({ type }) => type === 'manualRetries') && started.map(({ type }) => type);
      });
      await connection.close();
      assert.ok(!types.includes('webhookAttempt'), types.join());
      assert.ok(types.filter((type) => type === 'manualRetries').length <= 4, types.join());
    });

    it('is made once for the same idempotency key', async () => {
      const hook = await webhook();
      await publish();
      const { id } = await delivered(hook, is('succeeded'));
      const headers = { 'Idempotency-Key': randomUUID() };
      const path = `/api/v1/deliveries/${id}/retry`;
      const first = await world.send('POST', path, { headers, body: { at: '2020-01-01T00:00:00Z' } });
      assert.equal(first.status, 202, 'a past time means now');
      const again = await world.send('POST', path, { headers, body: { at: '2020-01-01T00:00:00Z' } });
      assert.equal(again.text, first.text);
      await receiver.receives(2);
      await receiver.staysQuiet(300);
    });

    it('is made once for the same time in the past, also without an idempotency key', async () => {
      const hook = await webhook();
      await publish();
      const { id } = await delivered(hook, is('succeeded'));
      const at = '2020-01-01T00:00:00Z';
      const both = await Promise.all([retry(id, { at }), retry(id, { at: '2020-01-01T01:00:00+01:00' })]);
      await delivered(hook, ({ attempts_count: count }) => count === 2);
      const later = await retry(id, { at });
      assert.deepEqual(
        [...both, later].map(({ status, json }) => [status, json.id]),
        [1, 2, 3].map(() => [202, id]),
      );
      assert.equal((await retry(id, { at: '0001-01-01T00:00:00Z' })).status, 202, 'another time');
      await delivered(hook, ({ attempts_count: count }) => count === 3);
      assert.equal((await retry(id)).status, 202);
      await delivered(hook, ({ attempts_count: count }) => count === 4);
      await receiver.staysQuiet(300);
      const owner = world.as(await world.signIn());
      const { json } = await world.send('GET', '/api/v1/audit-log?limit=200', owner);
      const recorded = json.data.filter(
        (entry: Row) => entry.subject === `delivery:${id}` && entry.action === 'delivery.retried',
      );
      assert.equal(recorded.length, 3);
    });

    it('is rejected if nothing can be sent', async () => {
      const hook = await webhook();
      await publish();
      const { id } = await delivered(hook, is('succeeded'));
      await edit(hook, { active: false });
      assertProblem(await retry(id), 409, 'invalid_state');
      await sql`update webhooks set active = true, disabled_at = now() where id = ${hook}`.execute(
        queryBuilderOf(world.database),
      );
      assertProblem(await retry(id), 409, 'invalid_state');
      await edit(hook, { active: true });
      for (const status of ['pending', 'cancelled']) {
        await set(id, status);
        assertProblem(await retry(id), 409, 'invalid_state');
      }
      await set(id, 'failed');
      await sql`update events set body = null where seq = (select event_seq from deliveries where id = ${id})`.execute(
        queryBuilderOf(world.database),
      );
      assertProblem(await retry(id), 409, 'invalid_state');
      const { attempts } = await detail(id);
      assert.equal(attempts[0].request.body, null, 'the payload is no longer stored');
      await world.send('DELETE', `/api/v1/webhooks/${hook}`);
      assertProblem(await retry(id), 409, 'invalid_state');
      await receiver.staysQuiet(200);
    });

    it('is rejected with an invalid time, or one more than 30 days ahead', async () => {
      const hook = await webhook();
      await publish();
      const { id } = await delivered(hook, is('succeeded'));
      const tooLate = new Date(Date.now() + 31 * 24 * 3_600_000).toISOString();
      for (const [at, code] of [
        [tooLate, 'not_allowed'],
        ['2030-01-01T00:00:00', 'invalid_format'],
        [null, 'wrong_type'],
      ] as const) {
        const received = await retry(id, { at });
        assertProblem(received, 422, 'validation_failed');
        assert.deepEqual([received.json.errors[0].pointer, received.json.errors[0].code], ['/at', code]);
      }
    });
  });

  describe('a recovery', () => {
    const recover = (hook: string, body: Record<string, unknown>) =>
      world.send('POST', `/api/v1/webhooks/${hook}/recover`, { body });
    const since = () => new Date(Date.now() - 60_000);

    it('sends held and failed deliveries since a time, with new schedules', async () => {
      const hook = await webhook();
      const ids = [];
      for (const status of ['held', 'failed', 'succeeded', 'held']) {
        const eventId = await publish();
        const { id } = await delivered(hook, is('succeeded'), eventId);
        await set(id, status, ", failures = 6, reason = 'it was so'");
        ids.push(id);
      }
      await sql`update deliveries set created_at = now() - interval '1 hour' where id = ${ids[3]}`.execute(
        queryBuilderOf(world.database),
      );
      const received = await recover(hook, { since: since() });
      assert.equal(received.status, 202, received.text);
      assert.deepEqual(received.json, { count: 2 });
      const sent = (await receiver.receives(6)).slice(4).map(({ headers }) => headers['x-service-delivery']);
      assert.deepEqual(sent.toSorted(), [ids[0], ids[1]].toSorted(), 'the same ids as before');
      for (const id of sent) {
        const shown = await eventually('the second attempt is recorded', async () => {
          const now = await detail(String(id));
          return now.attempts_count === 2 && now;
        });
        assert.equal(shown.reason, null);
        assert.equal(shown.attempts[1].trigger, 'automatic');
      }
      assert.equal((await detail(ids[3] ?? '')).status, 'held');
    });

    it('schedules a retry if the delivery fails again', async () => {
      const hook = await webhook();
      await publish();
      const { id } = await delivered(hook, is('succeeded'));
      await set(id, 'failed', ', failures = 6');
      receiver.answering(500);
      await recover(hook, { since: since(), statuses: ['failed'] });
      const row = await delivered(hook, is('retrying'));
      assertFirstWait(row, (await detail(id)).attempts.at(-1));
    });

    it('sends skipped deliveries that match the current filters', async () => {
      const filters = [{ field: 'priority', values: ['Low'] }];
      const hook = await webhook({ events: [{ event: 'issue.updated', filters }, { event: 'user.joined' }] });
      const first = await publish('issue.updated');
      await delivered(hook, is('skipped'), first);
      await edit(hook, { active: false });
      const second = await publish('user.joined');
      await delivered(hook, is('skipped'), second);
      assertProblem(await recover(hook, { since: since() }), 409, 'invalid_state');
      await edit(hook, { active: true });
      assert.deepEqual((await recover(hook, { since: since() })).json, { count: 0 });
      assert.deepEqual((await recover(hook, { since: since(), statuses: ['skipped'] })).json, { count: 1 });
      await delivered(hook, is('succeeded'), second);
      await edit(hook, { events: [{ event: 'issue.updated' }] });
      assert.deepEqual((await recover(hook, { since: since(), statuses: ['skipped'] })).json, { count: 1 });
      await delivered(hook, is('succeeded'), first);
    });

    it('ignores test deliveries and deliveries without a payload', async () => {
      const hook = await webhook();
      await publish();
      const { id } = await delivered(hook, is('succeeded'));
      await set(id, 'failed');
      await sql`update events set body = null where seq = (select event_seq from deliveries where id = ${id})`.execute(
        queryBuilderOf(world.database),
      );
      receiver.answering(500);
      await world.send('POST', `/api/v1/webhooks/${hook}/test`, { body: { event: 'issue.created' } });
      assert.deepEqual((await recover(hook, { since: since() })).json, { count: 0 });
      assert.deepEqual(
        (await list(hook)).map(({ status }: Row) => status),
        ['failed', 'failed'],
      );
    });

    it('only returns the number of deliveries with count_only', async () => {
      const filters = [{ field: 'priority', values: ['Low'] }];
      const hook = await webhook({
        events: [{ event: 'issue.created' }, { event: 'issue.updated', filters }],
      });
      await delivered(hook, is('skipped'), await publish('issue.updated'));
      const { id } = await delivered(hook, is('succeeded'), await publish());
      await set(id, 'held');
      await sql`update webhooks set disabled_at = now() where id = ${hook}`.execute(
        queryBuilderOf(world.database),
      );
      const count = async (statuses: string[]) => {
        const received = await recover(hook, { since: since(), statuses, count_only: true });
        assert.equal(received.status, 200, received.text);
        return received.json.count;
      };
      assert.equal(await count(['held', 'failed']), 1);
      assert.equal(await count(['skipped']), 0, 'the filter still does not match');
      await edit(hook, { events: [{ event: 'issue.updated' }] });
      assert.equal(await count(['held', 'skipped']), 2);
      await sql`
        update deliveries set created_at = now() - interval '1 hour'
        where webhook_id = ${hook} and status = 'skipped'
      `.execute(queryBuilderOf(world.database));
      assert.equal(await count(['held', 'skipped']), 1, 'the skipped one is older');
      assert.equal((await detail(id)).status, 'held');
    });

    it('is recorded in the audit log', async () => {
      const hook = await webhook();
      await recover(hook, { since: since(), statuses: ['held'] });
      const { rows } = await sql<{ action: string; detail: { count: number } }>`
        select action, detail from audit_log where subject = ${`webhook:${hook}`} order by id desc limit 1
      `.execute(queryBuilderOf(world.database));
      assert.equal(rows[0]?.action, 'webhook.recovered');
      assert.equal(rows[0]?.detail.count, 0);
    });

    it('is rejected while the webhook is disabled', async () => {
      const hook = await webhook();
      await sql`update webhooks set disabled_at = now() where id = ${hook}`.execute(
        queryBuilderOf(world.database),
      );
      assertProblem(await recover(hook, { since: since() }), 409, 'invalid_state');
    });

    it('is rejected without a time, and with other statuses or members', async () => {
      const hook = await webhook();
      const at = '2026-01-01T00:00:00Z';
      for (const [body, pointer] of [
        [{}, '/since'],
        [{ since: '2026-01-01T00:00:00' }, '/since'],
        [{ since: at, statuses: [] }, '/statuses'],
        [{ since: at, statuses: ['succeeded'] }, '/statuses/0'],
        [{ since: at, until: 1 }, '/until'],
      ] as const) {
        const received = await recover(hook, body);
        assertProblem(received, 422, 'validation_failed');
        assert.equal(received.json.errors[0].pointer, pointer);
      }
    });
  });
});

/** Asserts that the next attempt is due after the first wait of the schedule. */
function assertFirstWait({ next_attempt_at: due }: Row, { attempted_at: attemptedAt }: Row): void {
  const wait = Date.parse(due) - Date.parse(attemptedAt);
  const latest = Date.now() + FIRST_WAIT_MS + CLOCK_MS;
  assert.ok(wait >= FIRST_WAIT_MS - CLOCK_MS && Date.parse(due) <= latest, `${wait} ms`);
}
