import assert from 'node:assert/strict';
import { randomUUIDv7 } from 'node:crypto';
import { MAX_READ_WORDS_LENGTH } from '../../src/domain/webhooks/delivery-view.ts';
import {
  cancelForgottenTests,
  cancelTestDelivery,
  findDelivery,
  findEvent,
  findPayload,
  insertTestDelivery,
  listAttempts,
  readSearchWords,
  testEventId,
} from '../../src/database/webhooks/deliveries.ts';
import { findRecordedResults, recordResults } from '../../src/database/webhooks/delivery-results.ts';
import {
  findWorkspaceName,
  insertGroups,
  insertTestEvent,
  listRecentEvents,
} from '../../src/database/webhooks/events.ts';
import { beginListening, renewListening, stopListening } from '../../src/database/webhooks/listeners.ts';
import {
  countRecoverable,
  countSkippedDeliveries,
  readSkippedDeliveries,
} from '../../src/database/webhooks/recovery.ts';
import {
  answerRequest,
  claimRequests,
  deleteRequest,
  deleteRequestsBefore,
  readRequestState,
  releaseRequests,
  storeRequest,
} from '../../src/database/webhooks/relays.ts';
import {
  listNewestDeliveries,
  markWatched,
  readDeliveries,
} from '../../src/database/webhooks/watched-webhooks.ts';
import { listTargetsForGroups, readTargets } from '../../src/database/webhooks/webhook-targets.ts';
import { findWebhook, listWebhooks } from '../../src/database/webhooks/webhooks.ts';
import { useInstallation } from '../support/installation.ts';
import { successOf } from '../support/results.ts';
import { idAt, storedRows } from '../support/stored-rows.ts';

const NOW = new Date('2026-03-01T12:00:00Z');
const at = (seconds: number) => new Date(NOW.getTime() + seconds * 1_000);

describe('the statements about webhooks', () => {
  const fresh = useInstallation();
  const rows = storedRows(fresh);
  let webhook: string;
  beforeEach(async () => {
    await rows.clear();
    webhook = await rows.webhook();
  });

  const inArray = (ids: readonly string[]) => `{${ids.join()}}`;

  it('read webhooks for deliveries with all data, by workspace, without deleted ones for new events', async () => {
    const { workspaceId } = await rows.workspace();
    const values = {
      url: 'https://other.example.com/',
      secret: 'sealed',
      previous_secret: 'sealed before',
      previous_secret_until: at(1),
      include_secret_header: true,
      standard_webhooks: false,
      active: false,
      consecutive_failures: 3,
      enabled_count: 4,
      disabled_at: at(2),
      listening_until: at(3),
    };
    const events = [{ event: 'issue.created', filters: [] }];
    const full = await rows.webhook({ ...values, events: JSON.stringify(events) });
    const deleted = await rows.webhook({ deleted_at: at(4), standard_webhooks: true });
    const other = await rows.webhook({ workspace_id: workspaceId });
    await rows.webhook({ workspace_id: (await rows.workspace()).workspaceId });
    const groups = [await rows.group(), await rows.group()];
    await rows.event({ group_id: groups[0] });
    await rows.event({ group_id: groups[1], workspace_id: workspaceId });
    const found = await listTargetsForGroups(fresh.database, groups);
    assert.deepEqual(
      new Map([...found].map(([id, targets]) => [id, targets.map((target) => target.id)])),
      new Map([
        [fresh.installation.workspace_id, [webhook, full]],
        [workspaceId, [other]],
      ]),
    );
    const read = await readTargets(fresh.database, [full, deleted]);
    assert.deepEqual(read.get(full), {
      id: full,
      workspace_id: fresh.installation.workspace_id,
      ...values,
      events,
      deleted_at: null,
    });
    const { deleted_at, include_secret_header, standard_webhooks, listening_until } = read.get(deleted)!;
    assert.deepEqual(
      [read.size, deleted_at, include_secret_header, standard_webhooks, listening_until],
      [2, at(4), false, true, null],
    );
    const page = async (limit: number, cursor?: string) =>
      (
        await listWebhooks(fresh.database, { workspaceId: fresh.installation.workspace_id, limit, cursor })
      ).map(({ id }) => id);
    assert.deepEqual(await page(10), [full, webhook]);
    assert.deepEqual(await page(1), [full]);
    assert.deepEqual(await page(10, full), [webhook]);
    const { workspace_id } = fresh.installation;
    const find = async (id: string, which: object = {}) =>
      (await findWebhook(fresh.database, { workspaceId: workspace_id, id, ...which }))?.id ?? null;
    assert.deepEqual(
      [await find(full), await find(other), await find(deleted), await find(deleted, { deleted: true })],
      [full, null, null, deleted],
    );
    assert.equal(await findWorkspaceName(fresh.database, workspaceId), 'Other');
  });

  it('read the current state of deliveries with the words of their events, the oldest first', async () => {
    const words = 'w'.repeat(MAX_READ_WORDS_LENGTH) + 'more';
    const seq = await rows.event({ words, body: 'a body', timestamp: at(1), received_at: at(2) });
    const values = {
      event_id: 'evt_7',
      event: 'issue.updated',
      status: 'retrying',
      test: true,
      response_status: 503,
      failure: 'status',
      response_ms: 45,
      attempts_count: 6,
      next_attempt_at: at(4),
      reason: 'a reason',
      created_at: at(5),
    };
    const second = await rows.delivery(webhook, { id: idAt(NOW, 2), event_seq: seq, ...values });
    const other = await rows.webhook();
    const first = await rows.delivery(other, { id: idAt(NOW, 1), event_seq: 0 });
    const [oldest, newest, ...others] = await readDeliveries(fresh.database, [second, first]);
    assert.deepEqual(others, []);
    assert.deepEqual(newest, {
      id: second,
      webhook_id: webhook,
      ...values,
      words: 'w'.repeat(MAX_READ_WORDS_LENGTH),
    });
    assert.deepEqual(
      [oldest?.id, oldest?.webhook_id, oldest?.words, oldest?.next_attempt_at],
      [first, other, null, null],
    );
    assert.deepEqual(
      await readSearchWords(fresh.database, [{ event_seq: seq }, { event_seq: 0 }]),
      new Map([[seq, 'w'.repeat(MAX_READ_WORDS_LENGTH)]]),
    );
    assert.deepEqual(await findEvent(fresh.database, { event_seq: seq }), {
      body: 'a body',
      words,
      timestamp: at(1),
      received_at: at(2),
    });
    assert.equal(await findPayload(fresh.database, { event_seq: seq }), 'a body');
    assert.deepEqual(
      [
        await findEvent(fresh.database, { event_seq: 0 }),
        await findPayload(fresh.database, { event_seq: 0 }),
      ],
      [null, null],
    );
    const { workspaceId } = await rows.workspace();
    const { workspace_id } = fresh.installation;
    assert.equal((await findDelivery(fresh.database, { workspaceId: workspace_id, id: second }))?.id, second);
    assert.equal(await findDelivery(fresh.database, { workspaceId, id: second }), null);
  });

  it('list the newest deliveries of a webhook, and those of them that changed since a time', async () => {
    const ids: string[] = [];
    for (const [number, changed] of [9, 1, 2, 3].entries())
      ids.push(
        await rows.delivery(webhook, { id: idAt(NOW, number), created_at: NOW, updated_at: at(changed) }),
      );
    await rows.delivery(await rows.webhook(), { id: idAt(NOW, 8), updated_at: at(9) });
    const list = async (limit: number, since: Date | null) =>
      await listNewestDeliveries(fresh.database, webhook, { limit, since });
    assert.deepEqual(await list(3, null), ids.slice(1).toReversed());
    assert.deepEqual((await list(3, at(2))).toSorted(), ids.slice(2), 'the oldest is not among the newest');
  });

  it('mark webhooks as watched for 90 s, never shorter than before, and forget marks after an hour', async () => {
    const [kept, past, extended] = [randomUUIDv7(), randomUUIDv7(), randomUUIDv7()];
    const mark = (id: string, minutes: number) =>
      rows.execute(`insert into watched_webhooks values (?, now() + make_interval(mins => ?))`, [
        id,
        minutes,
      ]);
    await mark(kept, -59);
    await mark(past, -61);
    await mark(extended, 5);
    await markWatched(fresh.database, [webhook, extended]);
    const marks = await rows.execute<{ id: string; seconds: number }>(
      `select webhook_id as id, extract(epoch from until - now())::float8 as seconds from watched_webhooks`,
    );
    const seconds = new Map(marks.map((one) => [one.id, one.seconds]));
    assert.deepEqual([...seconds.keys()].toSorted(), [kept, extended, webhook].toSorted());
    const [own = 0, longer = 0] = [seconds.get(webhook), seconds.get(extended)];
    // The machine's clock may be set back between the two statements.
    assert.ok(own > 60 && own < 91, String(own));
    assert.ok(longer > 240, String(longer));
    await rows.execute('delete from watched_webhooks');
  });

  describe('for listeners', () => {
    const request = () => ({ id: randomUUIDv7(), webhook_id: webhook }) as never;
    const which = () => ({ webhookId: webhook, workspaceId: fresh.installation.workspace_id });
    const secondsLeft = async () => {
      const [row] = await rows.execute<{ seconds: number }>(
        'select extract(epoch from listening_until - clock_timestamp())::float8 as seconds from webhooks where id = ?',
        [webhook],
      );
      return row?.seconds ?? 0;
    };
    const listen = (values: string) => rows.execute(`update webhooks set ${values} where id = ?`, [webhook]);

    it('accept a listener only of a webhook for listeners of the workspace, and replace it by the next', async () => {
      assert.equal(await beginListening(fresh.database, which()), null);
      await listen('listening_until = now()');
      const { workspaceId } = await rows.workspace();
      assert.equal(await beginListening(fresh.database, { webhookId: webhook, workspaceId }), null);
      const first = (await beginListening(fresh.database, which())) ?? assert.fail('no listener');
      const second = (await beginListening(fresh.database, which())) ?? assert.fail('no listener');
      assert.ok(first < second);
      const left = await secondsLeft();
      assert.equal(await renewListening(fresh.database, { webhookId: webhook, until: first }), 'replaced');
      await stopListening(fresh.database, { webhookId: webhook, until: first });
      assert.ok((await secondsLeft()) > left - 2, 'the replaced one does not end the other');
      const renewed = await renewListening(fresh.database, { webhookId: webhook, until: second });
      assert.ok(typeof renewed === 'object' && renewed.until > second);
      await stopListening(fresh.database, { webhookId: webhook, until: renewed.until });
      const reconnect = await secondsLeft();
      assert.ok(reconnect < left - 1, `${reconnect} of ${left} s`);
      await listen('deleted_at = now()');
      assert.equal(await renewListening(fresh.database, { webhookId: webhook, until: second }), 'gone');
      const last = { webhookId: webhook, until: new Date(Date.now()).toISOString() };
      assert.equal(await renewListening(fresh.database, last), 'gone');
      assert.equal(await beginListening(fresh.database, which()), null);
    });

    it('store requests only while there is a listener', async () => {
      const [one, two] = [request() as { id: string }, request() as { id: string }];
      assert.equal(await storeRequest(fresh.database, one as never), false);
      await listen(`listening_until = now() - interval '1 s'`);
      assert.equal(await storeRequest(fresh.database, one as never), false);
      await listen(`listening_until = now() + interval '1 min'`);
      assert.equal(await storeRequest(fresh.database, one as never), true);
      const state = async (id: string) => await readRequestState(fresh.database, id);
      assert.deepEqual(await state(one.id), { answer: null, isTaken: false, hasListener: true });
      assert.deepEqual(await claimRequests(fresh.database, webhook, 10), [one]);
      assert.deepEqual(await state(one.id), { answer: null, isTaken: true, hasListener: true });
      await listen(`listening_until = now() - interval '1 s'`);
      assert.equal((await state(one.id))?.hasListener, false);
      await listen(`listening_until = now() + interval '1 min', deleted_at = now()`);
      assert.equal((await state(one.id))?.hasListener, false);
      assert.equal(await storeRequest(fresh.database, two as never), false);
      assert.equal(await state(two.id), null);
    });

    it('claim requests once, the oldest first, until they are released, answered or deleted', async () => {
      const store = async (seconds: number, webhookId = webhook) => {
        const id = randomUUIDv7();
        await rows.insert('relayed_requests', {
          id,
          webhook_id: webhookId,
          request: JSON.stringify({ id }),
          created_at: at(seconds),
        });
        return id;
      };
      const ids = [await store(3), await store(1), await store(2)] as const;
      const other = await store(0, await rows.webhook());
      const claim = async (limit: number) =>
        (await claimRequests(fresh.database, webhook, limit)).map(({ id }) => id);
      assert.deepEqual(await claim(2), [ids[1], ids[2]]);
      assert.deepEqual(await claim(2), [ids[0]]);
      const answer = { kind: 'answer' } as never;
      assert.equal(await answerRequest(fresh.database, ids[1], answer), true);
      assert.equal(await answerRequest(fresh.database, ids[1], {} as never), false);
      assert.deepEqual((await readRequestState(fresh.database, ids[1]))?.answer, answer);
      await releaseRequests(fresh.database, webhook, [{ id: ids[1] }, { id: ids[2] }] as never);
      assert.deepEqual(await claim(9), [ids[2]], 'an answered one is not sent again');
      await releaseRequests(fresh.database, webhook, [{ id: ids[2] }] as never);
      await deleteRequest(fresh.database, ids[2]);
      assert.deepEqual(await claim(9), []);
      await deleteRequestsBefore(fresh.database, at(1));
      const left = await rows.execute<{ id: string }>('select id from relayed_requests order by created_at');
      assert.deepEqual(
        left.map(({ id }) => id),
        [ids[1], ids[0]],
        `without ${other}`,
      );
    });

    it('give a new listener only the unanswered requests of its webhook', async () => {
      await listen('listening_until = now()');
      const other = await rows.webhook();
      const store = async (webhookId: string, answer: string | null) => {
        const id = randomUUIDv7();
        await rows.insert('relayed_requests', {
          id,
          webhook_id: webhookId,
          request: JSON.stringify({ id }),
          taken_at: NOW,
          answer,
        });
        return id;
      };
      const waiting = await store(webhook, null);
      await store(webhook, '{}');
      await store(other, null);
      await beginListening(fresh.database, which());
      const free = await rows.execute('select id from relayed_requests where taken_at is null');
      assert.deepEqual(free, [{ id: waiting }]);
    });
  });

  it('list the latest events of a workspace with a payload, up to a number of bytes', async () => {
    const { workspaceId } = await rows.workspace();
    const add = async (id: string, body: string | null, values: object = {}) =>
      await rows.event({ id, body, words: `words of ${id}`, timestamp: at(1), ...values });
    await add('evt_1', '12345');
    await add('evt_2', '123456', { event: 'issue.updated', timestamp: at(2) });
    await add('evt_3', '1234');
    await add('evt_other', '1', { workspace_id: workspaceId });
    await add('evt_test', '1', { test: true });
    await add('evt_erased', null);
    const list = async (most: number, bytes: number) =>
      await listRecentEvents(fresh.database, fresh.installation.workspace_id, { most, bytes });
    const ids = async (most: number, bytes: number) => (await list(most, bytes)).map(({ id }) => id);
    assert.deepEqual(await ids(9, 99), ['evt_3', 'evt_2', 'evt_1']);
    assert.deepEqual(await ids(2, 99), ['evt_3', 'evt_2']);
    assert.deepEqual(await ids(9, 10), ['evt_3', 'evt_2']);
    assert.deepEqual(await ids(9, 9), ['evt_3']);
    assert.deepEqual(await ids(9, 1), ['evt_3'], 'at least one');
    assert.deepEqual((await list(9, 10))[1], {
      id: 'evt_2',
      event: 'issue.updated',
      timestamp: at(2),
      body: '123456',
      words: 'words of evt_2',
    });
  });

  it('count and read the skipped and recoverable deliveries that a recovery would send', async () => {
    const [seq, erased] = [await rows.event({ body: 'a body' }), await rows.event({ body: null })];
    const skipped = { status: 'skipped', event_seq: seq, created_at: at(10) };
    const add = async (values: object, of = webhook) => await rows.delivery(of, { ...skipped, ...values });
    const late = await add({ id: idAt(NOW, 5) });
    const early = await add({ id: idAt(NOW, 4), event: 'issue.updated' });
    await add({ created_at: at(9.999) });
    await add({ event_seq: erased });
    await add({ test: true });
    await add({ event: 'issue.deleted' });
    await add({}, await rows.webhook());
    for (const status of ['held', 'held', 'failed', 'succeeded', 'pending']) await add({ status });
    const events = ['issue.created', 'issue.updated'] as const;
    const which = { webhookId: webhook, since: at(10), events };
    assert.equal(await countSkippedDeliveries(fresh.database, which), 2);
    assert.deepEqual(await Array.fromAsync(readSkippedDeliveries(fresh.database, which)), [
      [
        { id: early, event: 'issue.updated', body: 'a body' },
        { id: late, event: 'issue.created', body: 'a body' },
      ],
    ]);
    assert.deepEqual(
      await Array.fromAsync(readSkippedDeliveries(fresh.database, { ...which, events: [] })),
      [],
    );
    await add({ status: 'held', created_at: at(9.999) });
    await add({ status: 'held', event_seq: erased });
    await add({ status: 'held', test: true });
    await add({ status: 'held' }, await rows.webhook());
    const count = async (...statuses: ('held' | 'failed')[]) =>
      await countRecoverable(fresh.database, { webhookId: webhook, since: at(10), statuses });
    assert.deepEqual([await count('held'), await count('failed'), await count('held', 'failed')], [2, 1, 3]);
  });

  it('read payloads in batches of 256 KiB, with at least one payload', async () => {
    const unit = 'x'.repeat(65_536);
    const sizes = [2, 2, 1, 5, 1];
    const ids: string[] = [];
    for (const [index, size] of sizes.entries()) {
      const event_seq = await rows.event({ body: unit.repeat(size) });
      const id = idAt(NOW, index);
      ids.push(await rows.delivery(webhook, { id, status: 'skipped', event_seq, created_at: NOW }));
    }
    const which = { webhookId: webhook, since: NOW, events: ['issue.created'] as const };
    const batches = await Array.fromAsync(readSkippedDeliveries(fresh.database, which));
    assert.deepEqual(
      batches.map((batch) => batch.map(({ id }) => ids.indexOf(id))),
      [[0, 1], [2], [3], [4]],
    );
  });

  describe('for tests', () => {
    const stored = async (id: string) => {
      const [row] = await rows.execute<Record<string, unknown>>('select * from deliveries where id = ?', [
        id,
      ]);
      return row ?? assert.fail('no delivery');
    };

    it('store the event and the delivery of a test', async () => {
      const { workspace_id } = fresh.installation;
      const event = {
        workspace_id,
        id: 'evt_test_1',
        event: 'issue.updated' as const,
        timestamp: at(1),
        body: 'a body',
        words: 'some words',
        received_at: at(2),
      };
      const seq = (await insertTestEvent(fresh.database, event)) ?? assert.fail('the id is new');
      assert.equal(await insertTestEvent(fresh.database, event), null);
      const [{ content_hash: hash, ...row } = assert.fail('no event')] = await rows.execute<
        Record<string, unknown>
      >(
        `select workspace_id, id, event, "timestamp", body, words, received_at, test, group_id,
           content_hash = sha256('a body') as content_hash from events where seq = ?`,
        [seq],
      );
      assert.deepEqual([row, hash], [{ ...event, test: true, group_id: null }, true]);
      const id = idAt(NOW);
      await insertTestDelivery(fresh.database, {
        id,
        workspaceId: workspace_id,
        webhookId: webhook,
        eventSeq: seq,
        eventId: 'evt_test_1',
        event: 'issue.updated',
        now: at(3),
      });
      const expected = {
        id,
        workspace_id,
        webhook_id: webhook,
        event_seq: String(seq),
        event_id: 'evt_test_1',
        event: 'issue.updated',
        status: 'pending',
        test: true,
        reason: null,
        generation: 0,
        in_backlog: false,
        failures: 0,
        attempts_count: 0,
        response_status: null,
        failure: null,
        response_ms: null,
        next_attempt_at: null,
        retry_started: false,
        created_at: at(3),
        updated_at: at(3),
      };
      assert.deepEqual({ ...(await stored(id)), event_seq: String(seq) }, expected);
      await cancelTestDelivery(fresh.database, id, at(4));
      assert.deepEqual(
        { ...(await stored(id)), event_seq: String(seq) },
        { ...expected, status: 'cancelled', reason: 'the test was not sent in time', updated_at: at(4) },
      );
      await rows.execute(`update deliveries set status = 'failed' where id = ?`, [id]);
      await cancelTestDelivery(fresh.database, id, at(5));
      assert.equal((await stored(id))['status'], 'failed');
    });

    it('cancel the forgotten ones of all workspaces', async () => {
      const { workspaceId } = await rows.workspace();
      const store = async (
        drafted: number,
        { event = {}, delivery = {} }: { event?: object; delivery?: object } = {},
      ) => {
        const id = idAt(at(drafted), drafted + 1_000);
        const seq = await rows.event({ id: testEventId(id), test: true, ...event });
        const created_at = at(-180.001);
        return await rows.delivery(webhook, { id, event_seq: seq, test: true, created_at, ...delivery });
      };
      const forgotten = [await store(-500), await store(-590, { event: { workspace_id: workspaceId } })];
      const others = [
        await store(-610),
        await store(10),
        await store(-400, { delivery: { created_at: at(-180) } }),
        await store(-401, { delivery: { status: 'retrying' } }),
        await store(-402, { delivery: { test: false } }),
        await store(-403, { event: { test: false } }),
      ];
      const span = { draftedAfter: at(-600), storedBefore: at(-180), now: NOW };
      assert.equal(await cancelForgottenTests(fresh.database, span), 2);
      const statusOf = async (ids: readonly string[]) =>
        await rows.execute(
          `select status, count(*)::integer from deliveries where id = any(?::uuid[]) group by 1 order by 1`,
          [inArray(ids)],
        );
      assert.deepEqual(await statusOf(forgotten), [{ status: 'cancelled', count: 2 }]);
      assert.deepEqual(await statusOf(others), [
        { status: 'pending', count: 5 },
        { status: 'retrying', count: 1 },
      ]);
      assert.equal(await cancelForgottenTests(fresh.database, span), 0);
    });
  });

  describe('for results', () => {
    const result = (id: string, members: object = {}) =>
      successOf({ id, webhook_id: webhook, workspace_id: fresh.installation.workspace_id }, members);

    it('store an attempt with every field, and its result with the delivery', async () => {
      const id = await rows.delivery(webhook, { attempts_count: 6 });
      const attempt = {
        trigger: 'manual' as const,
        token: randomUUIDv7(),
        attempted_at: at(1),
        url: 'https://other.example.com/',
        request_headers: { 'x-request': 'a header' },
        response_status: 503,
        response_headers: { 'x-response': 'another header' },
        response_body: 'a body',
        response_truncated: true,
        failure: 'status',
        message: 'a message',
        address: '192.0.2.1',
        timings: { total_ms: 12 },
        response_ms: 34,
      };
      const given = {
        ...attempt,
        succeeded: false,
        attempted_at: at(1).toISOString(),
        completed_at: at(2).toISOString(),
      };
      const { recorded } = await recordResults(fresh.database, [result(id, given)]);
      const state = { status: 'pending', generation: 0, failures: 0, next_attempt_at: null, number: 7 };
      assert.deepEqual(recorded.get(id), state);
      const [row] = await rows.execute('select * from delivery_attempts where delivery_id = ?', [id]);
      assert.deepEqual(row, { delivery_id: id, number: 7, ...attempt });
      const [delivery] = await rows.execute(
        'select response_status, failure, response_ms, updated_at from deliveries where id = ?',
        [id],
      );
      assert.deepEqual(delivery, {
        response_status: 503,
        failure: 'status',
        response_ms: 34,
        updated_at: at(2),
      });
      const known = async (members: object) =>
        (await findRecordedResults(fresh.database, [result(id, { ...given, ...members })])).get(id);
      assert.deepEqual(await known({}), state);
      for (const members of [
        { attempted_at: at(1.001).toISOString() },
        { trigger: 'automatic' },
        { token: randomUUIDv7() },
        { token: null },
        { delivery_id: randomUUIDv7() },
      ])
        assert.equal(await known(members), undefined, JSON.stringify(members));
      assert.deepEqual(
        (await listAttempts(fresh.database, id)).map(({ number }) => number),
        [7],
      );
    });

    it('disable a webhook with a notice for every admin and owner, and an audit entry', async () => {
      const own = await rows.webhook({ name: 'Disabled', consecutive_failures: 9 });
      const id = await rows.delivery(own);
      const [owner] = await rows.execute<{ user_id: string }>(
        'select user_id from members where workspace_id = ?',
        [fresh.installation.workspace_id],
      );
      const { userId: foreign } = await rows.workspace();
      const admins = [owner?.user_id ?? ''];
      for (const role of ['admin', 'member', 'viewer']) {
        const user = randomUUIDv7();
        await rows.insert('users', { id: user, email: `${user}@example.com`, name: role, created_at: NOW });
        await rows.insert('members', {
          workspace_id: fresh.installation.workspace_id,
          user_id: user,
          role,
          created_at: NOW,
        });
        if (role === 'admin') admins.push(user);
      }
      const failed = { succeeded: false, failure: 'status', response_status: 500, webhook_id: own };
      const earlier = result(await rows.delivery(own), { ...failed, message: 'an earlier message' });
      const last = result(id, { ...failed, message: 'the last message' });
      const { disabled } = await recordResults(fresh.database, [earlier, last]);
      const [{ at: disabledAt } = assert.fail('not disabled')] = disabled;
      assert.deepEqual(disabled, [{ webhookId: own, at: disabledAt }]);
      const reason = '10 attempts in a row failed. Last failure: the last message';
      const [row] = await rows.execute<{ consecutive_failures: number }>(
        'select disabled_at, disabled_reason, consecutive_failures from webhooks where id = ?',
        [own],
      );
      const { consecutive_failures: failures, ...others } = row ?? assert.fail('no webhook');
      assert.deepEqual(others, { disabled_at: disabledAt, disabled_reason: reason });
      const notices = await rows.execute<{ user_id: string }>(
        'select workspace_id, user_id, kind, subject, detail, created_at from notifications order by user_id',
      );
      assert.deepEqual(
        notices.map(({ user_id }) => user_id),
        admins.toSorted(),
        `not ${foreign}`,
      );
      assert.deepEqual(notices[0], {
        workspace_id: fresh.installation.workspace_id,
        user_id: admins.toSorted()[0],
        kind: 'webhook.disabled',
        subject: `webhook:${own}`,
        detail: {
          webhook_id: own,
          name: 'Disabled',
          failures,
          reason,
          disabled_at: disabledAt.toISOString(),
        },
        created_at: disabledAt,
      });
      const audited = await rows.execute(
        'select workspace_id, actor, action, subject, detail, at from audit_log',
      );
      assert.deepEqual(audited, [
        {
          workspace_id: fresh.installation.workspace_id,
          actor: 'system',
          action: 'webhook.disabled',
          subject: `webhook:${own}`,
          detail: { name: 'Disabled', reason },
          at: disabledAt,
        },
      ]);
    });
  });

  it('store events of requests with every field, in their groups', async () => {
    const { workspace_id: workspaceId } = fresh.installation;
    const event = (id: string, members: object = {}) => ({
      workspaceId,
      id,
      event: 'issue.created' as const,
      timestamp: at(1).toISOString(),
      hash: 'ab'.repeat(32),
      body: 'a body',
      words: `words of ${id}`,
      ...members,
    });
    const [first, conflicting, second, third] = [
      randomUUIDv7(),
      randomUUIDv7(),
      randomUUIDv7(),
      randomUUIDv7(),
    ];
    const updated = event('evt_b', { event: 'issue.updated', traceparent: 'a trace', body: 'größer' });
    const requests = [
      { groupId: first, events: [updated] },
      { groupId: first, events: [event('evt_a')] },
    ];
    assert.deepEqual(await insertGroups(fresh.database, { now: at(2), requests }), []);
    const [group] = await rows.execute(
      'select created_at, events, bytes, started_at, repeats from event_groups where id = ?',
      [first],
    );
    assert.deepEqual(group, { created_at: at(2), events: 2, bytes: 14, started_at: null, repeats: false });
    const list = async () =>
      await rows.execute<Record<string, unknown>>(
        `select id, workspace_id, group_id, event, "timestamp", encode(content_hash, 'hex') as hash, body, words,
           traceparent, received_at, test from events order by seq`,
      );
    assert.deepEqual((await list())[0], {
      id: 'evt_b',
      workspace_id: workspaceId,
      group_id: first,
      event: 'issue.updated',
      timestamp: at(1),
      hash: 'ab'.repeat(32),
      body: 'größer',
      words: 'words of evt_b',
      traceparent: 'a trace',
      received_at: at(2),
      test: false,
    });
    const known = await insertGroups(fresh.database, {
      now: at(3),
      requests: [
        { groupId: conflicting, events: [event('evt_a', { hash: 'cd'.repeat(32) }), event('evt_c')] },
        { groupId: second, events: [event('evt_a'), event('evt_d')] },
        { groupId: third, events: [event('evt_e')] },
      ],
    });
    assert.deepEqual(known, [
      { request: 0, workspaceId, id: 'evt_a', isSame: false },
      { request: 1, workspaceId, id: 'evt_a', isSame: true },
    ]);
    assert.deepEqual(
      (await list()).map(({ id, group_id }) => [id, group_id]),
      [
        ['evt_b', first],
        ['evt_a', first],
        ['evt_d', second],
        ['evt_e', third],
      ],
    );
    const sizes = await rows.execute<{ id: string; events: number }>(
      'select id, events from event_groups where id in (?, ?, ?)',
      [conflicting, second, third],
    );
    assert.deepEqual(
      new Map(sizes.map(({ id, events }) => [id, events])),
      new Map([
        [second, 1],
        [third, 1],
      ]),
      'a group without stored events has no row',
    );
  });
});
