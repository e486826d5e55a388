import assert from 'node:assert/strict';
import { randomUUIDv7 } from 'node:crypto';
import {
  claimGroups,
  findDeliveryIds,
  findWaiting,
  findWaitingOfGroups,
  listBacklog,
  listForgottenBacklogs,
  listOverdueDeliveries,
  listUnstartedRetries,
  markGroupsDone,
  markRetriesStarted,
  markUnsent,
  moveToBacklog,
  readDeliveriesToSend,
  readProgress,
} from '../../src/database/webhooks/dispatch.ts';
import {
  listUnfinishedGroups,
  listUnstartedGroups,
  markGroupsStarted,
} from '../../src/database/webhooks/events.ts';
import { recoverDeliveries } from '../../src/database/webhooks/recovery.ts';
import { findAbandonedWebhooks } from '../../src/database/webhooks/listeners.ts';
import {
  endManualRetries,
  listManualRetries,
  listWebhooksWithManualRetries,
} from '../../src/database/webhooks/manual-retries.ts';
import {
  addScheduled,
  cancelScheduledRetry,
  endScheduledRetry,
  hasRetryAt,
  listOverdueRetries,
  markMadeRetries,
  recordUnmadeRetry,
  scheduleRetry,
  startScheduledRetry,
  unscheduleRetry,
} from '../../src/database/webhooks/scheduled-retries.ts';
import {
  holdOrCancelWaiting,
  listWebhooksWithWaiting,
} from '../../src/database/webhooks/waiting-deliveries.ts';
import { useInstallation } from '../support/installation.ts';
import { idAt, storedRows } from '../support/stored-rows.ts';

const NOW = new Date('2026-03-01T12:00:00Z');
const at = (seconds: number) => new Date(NOW.getTime() + seconds * 1_000);

describe('the lists of unfinished work of webhooks', () => {
  const fresh = useInstallation();
  const rows = storedRows(fresh);
  beforeEach(() => rows.clear());

  /** Stores rows in this order, and returns a function that translates their ids back to their names. */
  async function named(stored: Record<string, () => Promise<string>>) {
    const names = new Map<string, string>();
    for (const [name, store] of Object.entries(stored)) names.set(await store(), name);
    const nameOf = (id: string) => names.get(id) ?? assert.fail(`unknown id ${id}`);
    const idOf = (name: string) =>
      [...names].find(([, one]) => one === name)?.[0] ?? assert.fail(`unknown name ${name}`);
    return { nameOf, idOf };
  }

  it('of groups that are not known to have started have the oldest first, with their size', async () => {
    const { nameOf } = await named({
      waiting: () => rows.group({ created_at: at(-10), events: 3, bytes: 30 }),
      'passed on long ago': () =>
        rows.group({ created_at: at(-200), handed_at: at(-60.001), events: 4, bytes: 40 }),
      'passed on recently': () => rows.group({ created_at: at(-100), handed_at: at(-60) }),
      'new': () => rows.group({ created_at: NOW }),
      started: () => rows.group({ created_at: at(-100), started_at: at(-90) }),
      'done without a start': () => rows.group({ created_at: at(-100), done_at: at(-90) }),
    });
    const list = async (limit: number) =>
      (await listUnstartedGroups(fresh.database, { before: NOW, handedBefore: at(-60) }, limit)).map(
        ({ id, ...size }) => [nameOf(id), size],
      );
    const oldest = ['passed on long ago', { events: 4, bytes: 40 }];
    assert.deepEqual(await list(10), [oldest, ['waiting', { events: 3, bytes: 30 }]]);
    assert.deepEqual(await list(1), [oldest]);
  });

  it('of unfinished groups have those that no workflow has claimed in time, and those claimed long ago', async () => {
    const { nameOf } = await named({
      'claimed long ago': () =>
        rows.group({ created_at: at(-910), started_at: at(-900.001), claimed_by: 'one' }),
      unclaimed: () => rows.group({ created_at: at(-950), started_at: at(-60.001) }),
      'claimed recently': () => rows.group({ created_at: at(-990), started_at: at(-900), claimed_by: 'one' }),
      'started recently': () => rows.group({ created_at: at(-990), started_at: at(-60) }),
      'not started': () => rows.group({ created_at: at(-990) }),
      done: () => rows.group({ created_at: at(-990), started_at: at(-980), done_at: at(-970) }),
    });
    const since = { unclaimed: at(-60), claimed: at(-900) };
    const list = async (limit: number) =>
      (await listUnfinishedGroups(fresh.database, since, limit)).map(({ id, ...times }) => [
        nameOf(id),
        times,
      ]);
    const oldest = ['unclaimed', { createdAt: at(-950), startedAt: at(-60.001) }];
    assert.deepEqual(await list(10), [
      oldest,
      ['claimed long ago', { createdAt: at(-910), startedAt: at(-900.001) }],
    ]);
    assert.deepEqual(await list(1), [oldest]);
  });

  it('of retries have the next one first, with its schedule', async () => {
    const webhook = await rows.webhook();
    const retrying = { status: 'retrying', next_attempt_at: at(30), updated_at: at(-4), generation: 2 };
    const { nameOf } = await named({
      later: () => rows.delivery(webhook, { ...retrying, next_attempt_at: at(40), generation: 3 }),
      next: () => rows.delivery(webhook, retrying),
      'changed recently': () => rows.delivery(webhook, { ...retrying, updated_at: at(-3) }),
      started: () => rows.delivery(webhook, { ...retrying, retry_started: true }),
      failed: () => rows.delivery(webhook, { ...retrying, status: 'failed' }),
    });
    const list = async (limit: number) =>
      (await listUnstartedRetries(fresh.database, at(-3), limit)).map(({ id, ...schedule }) => [
        nameOf(id),
        schedule,
      ]);
    assert.deepEqual(await list(10), [
      ['next', { generation: 2, due: at(30) }],
      ['later', { generation: 3, due: at(40) }],
    ]);
    assert.deepEqual(await list(1), [['next', { generation: 2, due: at(30) }]]);
  });

  it('of overdue deliveries have the longest overdue first, then the lower id, on all pages', async () => {
    const webhook = await rows.webhook();
    const overdue = { status: 'retrying', retry_started: true, next_attempt_at: at(-70), generation: 5 };
    const { nameOf, idOf } = await named({
      'second of the same time': () => rows.delivery(webhook, { ...overdue, id: idAt(NOW, 2) }),
      'first of the same time': () => rows.delivery(webhook, { ...overdue, id: idAt(NOW, 1) }),
      longest: () => rows.delivery(webhook, { ...overdue, id: idAt(NOW, 3), next_attempt_at: at(-80) }),
      shortest: () => rows.delivery(webhook, { ...overdue, id: idAt(NOW, 0), next_attempt_at: at(-60.001) }),
      'due now': () => rows.delivery(webhook, { ...overdue, next_attempt_at: at(-60) }),
      'not started': () => rows.delivery(webhook, { ...overdue, retry_started: false }),
      held: () => rows.delivery(webhook, { ...overdue, status: 'held' }),
    });
    const list = async (limit: number, after: { due: Date; id: string } | null = null) =>
      (await listOverdueDeliveries(fresh.database, at(-60), { after, limit })).map(
        ({ id, generation, due }) => [nameOf(id), generation, due],
      );
    const all = [
      ['longest', 5, at(-80)],
      ['first of the same time', 5, at(-70)],
      ['second of the same time', 5, at(-70)],
      ['shortest', 5, at(-60.001)],
    ];
    assert.deepEqual(await list(10), all);
    assert.deepEqual(await list(2), all.slice(0, 2));
    assert.deepEqual(await list(10, { due: at(-70), id: idOf('first of the same time') }), all.slice(2));
  });

  it('of backlogs have each webhook once whose delivery has waited', async () => {
    const waiting = { in_backlog: true, updated_at: at(-15.001) };
    const [forgotten, other, ...rest] = await Promise.all(Array.from({ length: 5 }, () => rows.webhook()));
    const [recent, elsewhere, sent] = rest;
    for (const webhook of [forgotten, forgotten, other]) await rows.delivery(webhook!, waiting);
    await rows.delivery(recent!, { ...waiting, updated_at: at(-15) });
    await rows.delivery(elsewhere!, { ...waiting, in_backlog: false });
    await rows.delivery(sent!, { ...waiting, status: 'held' });
    const list = async (limit: number) => await listForgottenBacklogs(fresh.database, at(-15), limit);
    assert.deepEqual((await list(10)).toSorted(), [forgotten, other].toSorted());
    assert.equal((await list(1)).length, 1);
  });

  it('of disabled and deleted webhooks leave out tests of disabled ones, and held deliveries of those', async () => {
    const kinds = {
      enabled: {},
      disabled: { disabled_at: NOW },
      deleted: { deleted_at: NOW },
      'disabled and deleted': { disabled_at: NOW, deleted_at: NOW },
    };
    const { nameOf } = await named(
      Object.fromEntries(
        Object.entries(kinds).flatMap(([kind, values]) =>
          ['pending', 'retrying', 'held', 'succeeded', 'failed'].flatMap((status) =>
            [false, true].map((test) => [
              `${kind}: ${status}${test ? ' test' : ''}`,
              async () => {
                const id = await rows.webhook(values);
                await rows.delivery(id, { status, test });
                return id;
              },
            ]),
          ),
        ),
      ),
    );
    const waitingOfDeleted = ['pending', 'retrying', 'held'].flatMap((status) => [status, `${status} test`]);
    const expected = [
      'disabled: pending',
      'disabled: retrying',
      ...waitingOfDeleted.map((what) => `deleted: ${what}`),
      ...waitingOfDeleted.map((what) => `disabled and deleted: ${what}`),
    ];
    assert.deepEqual((await listWebhooksWithWaiting(fresh.database, 100)).map(nameOf), expected);
    assert.deepEqual((await listWebhooksWithWaiting(fresh.database, 3)).map(nameOf), expected.slice(0, 3));
  });

  it('of webhooks for listeners have the longest abandoned first', async () => {
    const { workspaceId } = await rows.workspace();
    const { nameOf } = await named({
      short: () => rows.webhook({ listening_until: at(-61), workspace_id: workspaceId }),
      long: () => rows.webhook({ listening_until: at(-90) }),
      deleted: () => rows.webhook({ listening_until: at(-90), deleted_at: NOW }),
      'with a listener': () => rows.webhook({ listening_until: at(-60) }),
      'of no listener': () => rows.webhook(),
    });
    const list = async (limit: number) =>
      (await findAbandonedWebhooks(fresh.database, at(-60), limit)).map((found) => [
        nameOf(found.id),
        found.workspaceId,
      ]);
    const longest = ['long', fresh.installation.workspace_id];
    assert.deepEqual(await list(10), [longest, ['short', workspaceId]]);
    assert.deepEqual(await list(1), [longest]);
  });

  it('of manual retries have those of one webhook that have not ended, in the order of their requests', async () => {
    const [webhook, other, ended, recent] = [
      await rows.webhook(),
      await rows.webhook(),
      await rows.webhook(),
      await rows.webhook(),
    ];
    const tokens = Array.from({ length: 6 }, () => randomUUIDv7()).toReversed();
    const delivery = await rows.delivery(webhook);
    const request = async (index: number, webhookId: string, values: Record<string, unknown> = {}) =>
      await rows.insert('manual_retries', {
        delivery_id: delivery,
        token: tokens[index],
        webhook_id: webhookId,
        attempts: index + 5,
        requested_at: at(-15.001),
        ...values,
      });
    await request(0, webhook);
    await request(1, webhook, { ended_at: NOW });
    await request(2, other);
    await request(3, webhook, { requested_at: at(-15) });
    await request(4, ended, { ended_at: NOW });
    await request(5, recent, { requested_at: at(-15) });
    // An attempt for one request is not one for another of the same delivery.
    await rows.attempt(delivery, { token: tokens[3] });
    const list = async (after: number, limit: number) =>
      await listManualRetries(fresh.database, webhook, { after, limit });
    const [first, second, ...others] = await list(0, 10);
    assert.deepEqual(others, []);
    assert.ok(first && second && first.position < second.position);
    assert.deepEqual(first, {
      deliveryId: delivery,
      token: tokens[0],
      attempts: 5,
      position: first.position,
      isMade: false,
    });
    assert.deepEqual([second.token, second.attempts, second.isMade], [tokens[3], 8, true]);
    assert.deepEqual(await list(0, 1), [first]);
    assert.deepEqual(await list(first.position, 10), [second]);
    const webhooks = async (limit: number) =>
      await listWebhooksWithManualRetries(fresh.database, at(-15), limit);
    assert.deepEqual(await webhooks(10), [webhook, other]);
    assert.deepEqual(await webhooks(1), [webhook]);

    const [before] = await rows.execute('select ended_at from manual_retries where token = ?', [tokens[1]]);
    await endManualRetries(fresh.database, [tokens[0]!, tokens[1]!]);
    assert.deepEqual(await list(0, 10), [second]);
    assert.deepEqual(
      await rows.execute('select ended_at from manual_retries where token = ?', [tokens[1]]),
      [before],
      'the time of the first end stays',
    );
  });

  it('of waiting deliveries have the pending ones outside the backlog, of groups of the workflow without tests', async () => {
    const webhook = await rows.webhook();
    const [own, unclaimed, foreign] = [
      await rows.group({ claimed_by: 'own' }),
      await rows.group(),
      await rows.group({ claimed_by: 'other' }),
    ];
    const of = async (group: string, values: Record<string, unknown> = {}) =>
      await rows.delivery(webhook, { event_seq: await rows.event({ group_id: group }), ...values });
    const { nameOf, idOf } = await named({
      waiting: () => of(own),
      'of an unclaimed group': () => of(unclaimed),
      'of another workflow': () => of(foreign),
      'in the backlog': () => of(own, { in_backlog: true }),
      retrying: () => of(own, { status: 'retrying' }),
      test: () => of(own, { test: true }),
    });
    const all = ['waiting', 'of an unclaimed group', 'of another workflow', 'in the backlog', 'retrying'];
    const given = all.map(idOf);
    const sorted = (ids: Iterable<string>) => [...ids].map(nameOf).toSorted();
    assert.deepEqual(sorted(await findWaiting(fresh.database, given)), [
      'of an unclaimed group',
      'of another workflow',
      'waiting',
    ]);
    const groups = [own, unclaimed, foreign];
    assert.deepEqual(sorted(await findWaitingOfGroups(fresh.database, groups, 'own')), [
      'of an unclaimed group',
      'waiting',
    ]);
    const seqs = await rows.execute<{ id: string; event_seq: string }>(
      'select id, event_seq from deliveries where id = any(?::uuid[])',
      [`{${[idOf('waiting'), idOf('test'), idOf('retrying')].join()}}`],
    );
    const seqOf = (name: string) => seqs.find(({ id }) => id === idOf(name))?.event_seq;
    assert.deepEqual(
      await findDeliveryIds(
        fresh.database,
        seqs.map(({ event_seq }) => Number(event_seq)),
      ),
      new Map(['waiting', 'retrying'].map((name) => [`${seqOf(name)}:${webhook}`, idOf(name)])),
    );
  });
});

describe('a delivery that is read for an attempt', () => {
  const fresh = useInstallation();
  const rows = storedRows(fresh);
  beforeEach(() => rows.clear());

  it('has the data of its event, and its progress, in the order of events', async () => {
    const [webhook, other] = [await rows.webhook(), await rows.webhook()];
    const [first, second, third] = [
      await rows.event({ timestamp: at(1), body: '{"first":true}', traceparent: 'a trace' }),
      await rows.event({ timestamp: at(2), body: null }),
      await rows.event(),
    ];
    const progress = { generation: 3, failures: 2, attempts_count: 4, in_backlog: true, status: 'pending' };
    // The ids are in the other order.
    const late = await rows.delivery(webhook, {
      id: idAt(NOW, 1),
      event_seq: second,
      in_backlog: true,
      event: 'issue.updated',
    });
    const early = await rows.delivery(webhook, {
      id: idAt(NOW, 2),
      event_seq: first,
      ...progress,
      next_attempt_at: at(3),
      created_at: at(4),
      updated_at: at(5),
      test: true,
    });
    await rows.delivery(webhook, { event_seq: third, in_backlog: true, status: 'held' });
    await rows.delivery(webhook, { event_seq: third });
    await rows.delivery(other, { event_seq: third, in_backlog: true });
    const found = await readDeliveriesToSend(fresh.database, [late, early]);
    assert.deepEqual(found[0], {
      id: early,
      webhook_id: webhook,
      workspace_id: fresh.installation.workspace_id,
      event: 'issue.created',
      timestamp: at(1),
      body: Buffer.from('{"first":true}'),
      traceparent: 'a trace',
      test: true,
      ...progress,
      next_attempt_at: at(3),
      created_at: at(4),
      updated_at: at(5),
    });
    const { id, event, timestamp, body, next_attempt_at } = found[1]!;
    assert.deepEqual(
      [found.length, id, event, timestamp, body, next_attempt_at],
      [2, late, 'issue.updated', at(2), null, null],
    );
    assert.deepEqual(await listBacklog(fresh.database, webhook, 10), found);
    assert.deepEqual(await listBacklog(fresh.database, webhook, 1), found.slice(0, 1));
    const before = (time: Date) => readDeliveriesToSend(fresh.database, [late, early], time);
    assert.deepEqual(await before(at(4)), []);
    assert.deepEqual(await before(new Date(at(4).getTime() + 1)), found.slice(0, 1));
    assert.deepEqual((await readProgress(fresh.database, [early])).get(early), { id: early, ...progress });
  });

  it('shares the payload of its event with the others of this event', async () => {
    const [erased, event, other] = [await rows.event({ body: null }), await rows.event(), await rows.event()];
    const webhooks = [await rows.webhook(), await rows.webhook(), await rows.webhook()];
    const ids = await Promise.all(
      [erased, event, other].flatMap((seq) =>
        webhooks.map((webhook) => rows.delivery(webhook, { event_seq: seq })),
      ),
    );
    const bodies = (await readDeliveriesToSend(fresh.database, ids)).map(({ body }) => body);
    assert.deepEqual(
      bodies.map((body) => bodies.indexOf(body)),
      [0, 0, 0, 3, 3, 3, 6, 6, 6],
    );
    assert.equal(bodies[0], null);
  });

  it('comes from a backlog with at most 4 MiB of payloads, or with a larger one alone', async () => {
    const webhook = await rows.webhook();
    const sizes = [5_000_000, null, 2_000_000, 2_194_303, 1, 1, 1];
    for (const [index, size] of sizes.entries()) {
      const seq = await rows.event({ body: size === null ? null : 'x'.repeat(size) });
      await rows.delivery(webhook, { id: idAt(NOW, index), event_seq: seq, in_backlog: true });
    }
    const read: (number | undefined)[][] = [];
    for (;;) {
      const found = await listBacklog(fresh.database, webhook, 10);
      if (found.length === 0) break;
      read.push(found.map(({ body }) => body?.length));
      await markUnsent(fresh.database, found, 'cancelled', 'read', NOW);
    }
    assert.deepEqual(read, [[5_000_000], [undefined, 2_000_000, 2_194_303, 1], [1, 1]]);
  });
});

describe('a statement that changes unfinished work of webhooks', () => {
  const fresh = useInstallation();
  const rows = storedRows(fresh);
  let webhook: string;
  beforeEach(async () => {
    await rows.clear();
    webhook = await rows.webhook();
  });

  type Row = Record<string, unknown> & { id: string };
  const deliveryRow = async (id: string) => {
    const [row] = await rows.execute<Row>('select * from deliveries where id = ?', [id]);
    return row ?? assert.fail('no delivery');
  };
  /** Returns the changed columns of a delivery. */
  async function changeOf(id: string, work: () => Promise<unknown>): Promise<Record<string, unknown>> {
    const before = await deliveryRow(id);
    await work();
    const after = await deliveryRow(id);
    return Object.fromEntries(
      Object.entries(after).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name])),
    );
  }

  it('moves a pending delivery to the backlog, and no other', async () => {
    const [pending, retrying, other] = [
      await rows.delivery(webhook),
      await rows.delivery(webhook, { status: 'retrying' }),
      await rows.delivery(webhook),
    ];
    const move = () => moveToBacklog(fresh.database, [pending, retrying], NOW);
    assert.deepEqual(await changeOf(pending, move), { in_backlog: true, updated_at: NOW });
    assert.deepEqual(await changeOf(retrying, move), {});
    assert.deepEqual(await changeOf(other, move), {});
  });

  it('puts a delivery aside only for its current schedule', async () => {
    const waiting = { next_attempt_at: at(9), generation: 4, in_backlog: true };
    for (const status of ['pending', 'retrying']) {
      const id = await rows.delivery(webhook, { ...waiting, status });
      const put = (generation: number) => () =>
        markUnsent(fresh.database, [{ id, generation }], 'skipped', 'a reason', NOW);
      assert.deepEqual(await changeOf(id, put(3)), {});
      assert.deepEqual(await changeOf(id, put(4)), {
        status: 'skipped',
        reason: 'a reason',
        in_backlog: false,
        next_attempt_at: null,
        generation: 5,
        updated_at: NOW,
      });
    }
    for (const status of ['held', 'succeeded', 'failed', 'cancelled']) {
      const id = await rows.delivery(webhook, { ...waiting, status });
      const put = () => markUnsent(fresh.database, [{ id, generation: 4 }], 'skipped', 'a reason', NOW);
      assert.deepEqual(await changeOf(id, put), {});
    }
  });

  it('records that the retries of a retrying delivery have started', async () => {
    const [retrying, held] = [
      await rows.delivery(webhook, { status: 'retrying', generation: 2 }),
      await rows.delivery(webhook, { status: 'held', generation: 2 }),
    ];
    const mark = (deliveryId: string, generation: number) => () =>
      markRetriesStarted(fresh.database, { deliveryId, generation });
    assert.deepEqual(await changeOf(retrying, mark(retrying, 1)), {});
    assert.deepEqual(await changeOf(held, mark(held, 2)), {});
    assert.deepEqual(await changeOf(retrying, mark(retrying, 2)), { retry_started: true });
  });

  it('claims a group that may have been dispatched before as a repeat', async () => {
    const repeats = async (values: Record<string, unknown>) => {
      const group = await rows.group({ created_at: new Date(), ...values });
      await rows.event({ group_id: group });
      const { events, isRepeat } = await claimGroups(fresh.database, [group], 'own');
      return events.length === 0 ? 'not claimed' : isRepeat;
    };
    const ago = (seconds: number) => new Date(Date.now() - seconds * 1_000);
    assert.equal(await repeats({}), false);
    assert.equal(await repeats({ started_at: ago(5) }), false);
    assert.equal(await repeats({ started_at: ago(60) }), true);
    assert.equal(await repeats({ claimed_by: 'own' }), true);
    assert.equal(await repeats({ repeats: true }), true);
    assert.equal(await repeats({ claimed_by: 'other' }), 'not claimed');
    assert.equal(await repeats({ done_at: ago(5) }), 'not claimed');
  });

  it('claims groups with all events in the order of arrival, except those whose payload is deleted', async () => {
    const groups = [await rows.group(), await rows.group()];
    const { workspaceId } = await rows.workspace();
    const first = await rows.event({
      group_id: groups[1],
      id: 'evt_first',
      event: 'issue.updated',
      workspace_id: workspaceId,
      timestamp: at(1),
      received_at: at(2),
      body: 'a body',
      traceparent: 'a trace',
    });
    const second = await rows.event({ group_id: groups[0] });
    await rows.event({ group_id: groups[0], body: null });
    await rows.event({ group_id: await rows.group() });
    const { events } = await claimGroups(fresh.database, groups, 'own');
    const [{ is_repeat: _, ...one } = assert.fail('no event')] = events as (object & {
      is_repeat?: boolean;
    })[];
    assert.deepEqual(one, {
      seq: first,
      workspace_id: workspaceId,
      id: 'evt_first',
      event: 'issue.updated',
      timestamp: at(1),
      received_at: at(2),
      body: 'a body',
      traceparent: 'a trace',
    });
    assert.deepEqual(
      events.map(({ seq }) => seq),
      [first, second],
    );
  });

  it('records the start and the end of groups once, the end only for the workflow that claimed them', async () => {
    const groupRow = async (id: string) => {
      const [row] = await rows.execute<Record<string, Date | null>>(
        'select started_at, handed_at, done_at from event_groups where id = ?',
        [id],
      );
      return row ?? assert.fail('no group');
    };
    const isSet = async (id: string) =>
      Object.entries(await groupRow(id)).flatMap(([name, value]) => (value === null ? [] : [name]));
    const [first, second, started] = [
      await rows.group(),
      await rows.group(),
      await rows.group({ started_at: at(-50), handed_at: at(-60) }),
    ];
    await markGroupsStarted(fresh.database, [first, second, started]);
    assert.deepEqual(await isSet(first), ['started_at', 'handed_at']);
    assert.deepEqual(await isSet(second), ['handed_at']);
    assert.deepEqual(await groupRow(started), {
      started_at: at(-50),
      handed_at: at(-60),
      done_at: null,
    });

    const [own, unclaimed, foreign, done, other] = [
      await rows.group({ claimed_by: 'own' }),
      await rows.group(),
      await rows.group({ claimed_by: 'other' }),
      await rows.group({ claimed_by: 'own', done_at: at(-9) }),
      await rows.group(),
    ];
    await markGroupsDone(fresh.database, [own, unclaimed, foreign, done], 'own', NOW);
    const ends = await Promise.all([own, unclaimed, foreign, done, other].map(groupRow));
    assert.deepEqual(
      ends.map(({ done_at }) => done_at),
      [NOW, NOW, null, at(-9), null],
    );
  });

  it('holds or cancels a waiting delivery with the reason', async () => {
    const waiting = { next_attempt_at: at(9), generation: 4, in_backlog: true };
    const webhooks = {
      held: await rows.webhook({ disabled_at: NOW }),
      cancelled: await rows.webhook({ disabled_at: NOW, deleted_at: NOW }),
    };
    for (const [status, webhookId] of Object.entries(webhooks)) {
      const kept = await rows.delivery(webhookId, { ...waiting, status: 'failed' });
      for (const before of ['pending', 'retrying', 'held']) {
        const id = await rows.delivery(webhookId, { ...waiting, status: before, reason: 'another reason' });
        const other = await rows.delivery(webhook, { ...waiting, status: before });
        const hold = () => holdOrCancelWaiting(fresh.database, webhookId);
        const { updated_at, ...changed } = await changeOf(id, hold);
        if (before === 'held' && status === 'held') {
          assert.deepEqual([changed, updated_at], [{}, undefined]);
          continue;
        }
        assert.ok(updated_at instanceof Date);
        assert.deepEqual(changed, {
          ...(before === status ? {} : { status }),
          reason: status === 'held' ? 'the webhook is disabled' : 'the webhook was deleted',
          next_attempt_at: null,
          generation: 5,
          in_backlog: false,
        });
        assert.deepEqual(
          [(await deliveryRow(other)).status, (await deliveryRow(kept)).status],
          [before, 'failed'],
        );
      }
    }
  });

  it('recovers the deliveries that were chosen, at the start of their schedules, with an audit entry', async () => {
    const [seq, erased] = [await rows.event(), await rows.event({ body: null })];
    const waiting = {
      status: 'held',
      event_seq: seq,
      created_at: at(10),
      generation: 4,
      failures: 3,
      retry_started: true,
      next_attempt_at: at(9),
      reason: 'a reason',
    };
    const skipped = await rows.delivery(webhook, { ...waiting, status: 'skipped' });
    const held = await rows.delivery(webhook, waiting);
    const others = [
      await rows.delivery(webhook, { ...waiting, created_at: at(9.999) }),
      await rows.delivery(webhook, { ...waiting, status: 'failed' }),
      await rows.delivery(webhook, { ...waiting, status: 'skipped' }),
      await rows.delivery(webhook, { ...waiting, test: true }),
      await rows.delivery(webhook, { ...waiting, event_seq: erased }),
      await rows.delivery(await rows.webhook(), waiting),
      // An id older than 48 hours is of a delivery that was created before: those are not read.
      await rows.delivery(webhook, { ...waiting, id: idAt(new Date(at(10).getTime() - 48 * 3_600_000 - 1)) }),
    ];
    const before = await Promise.all(others.map(deliveryRow));
    const { workspace_id: workspaceId } = fresh.installation;
    const recovery = {
      workspaceId,
      webhookId: webhook,
      since: at(10),
      statuses: ['held'] as const,
      skipped: [skipped, others[1]!],
      actor: 'user:ada',
      now: NOW,
    };
    const skippedBefore = await deliveryRow(skipped);
    const changed = await changeOf(held, async () => {
      assert.equal(await recoverDeliveries(fresh.database, recovery, () => {}), 3);
    });
    const restarted = {
      status: 'pending',
      reason: null,
      in_backlog: true,
      failures: 0,
      generation: 5,
      retry_started: false,
      next_attempt_at: null,
      updated_at: NOW,
    };
    assert.deepEqual(changed, restarted);
    assert.deepEqual(await deliveryRow(skipped), { ...skippedBefore, ...restarted });
    assert.deepEqual(await Promise.all(others.map(deliveryRow)), before);
    const detail = {
      name: 'A webhook',
      since: at(10).toISOString(),
      statuses: ['held'],
      skipped: 2,
      count: 3,
    };
    assert.deepEqual(await rows.execute('select actor, action, subject, detail, at from audit_log'), [
      { actor: 'user:ada', action: 'webhook.recovered', subject: `webhook:${webhook}`, detail, at: NOW },
    ]);
    const enabled = 'active = true, disabled_at = null, deleted_at = null';
    for (const values of ['active = false', 'disabled_at = now()', 'deleted_at = now()']) {
      for (const change of [enabled, values])
        await rows.execute(`update webhooks set ${change} where id = ?`, [webhook]);
      const id = await rows.delivery(webhook, waiting);
      const recover = async () => await recoverDeliveries(fresh.database, recovery, () => {});
      assert.deepEqual(await changeOf(id, recover), {}, values);
    }
    const missing = { ...recovery, webhookId: randomUUIDv7() };
    assert.equal(await recoverDeliveries(fresh.database, missing, () => {}), null);
  });

  describe('of a scheduled retry', () => {
    let delivery: string;
    beforeEach(async () => {
      delivery = await rows.delivery(webhook, { status: 'failed', attempts_count: 3 });
    });
    const tokenAt = (seconds: number) => idAt(NOW, seconds + 1_000);
    const store = async (values: Record<string, unknown> & { token: string; at: Date }, of = delivery) =>
      await rows.insert('scheduled_retries', { delivery_id: of, attempts: 3, ...values });
    const retryRow = async (token: string) => {
      const [row] = await rows.execute<Record<string, Date | null>>(
        'select started_at, ended_at, cancelled_at from scheduled_retries where token = ?',
        [token],
      );
      return row && Object.entries(row).flatMap(([name, value]) => (value === null ? [] : [name]));
    };
    const entry = () => ({
      workspaceId: fresh.installation.workspace_id,
      actor: 'key:test',
      action: 'delivery.retry_cancelled' as const,
      subject: `delivery:${delivery}`,
      detail: { by: 'a test' },
      at: NOW,
    });

    it('lists those that are overdue and have not ended, the longest overdue first', async () => {
      const others = await Promise.all(Array.from({ length: 6 }, () => rows.delivery(webhook)));
      await store({ token: tokenAt(9), at: at(-70), attempts: 7 });
      await store({ token: tokenAt(8), at: at(-70), started_at: NOW, attempts: 8 }, others[0]);
      await store({ token: tokenAt(10), at: at(-80) }, others[1]);
      await store({ token: tokenAt(1), at: at(-60) }, others[2]);
      await store({ token: tokenAt(2), at: at(-70), started_at: NOW, ended_at: NOW }, others[3]);
      await store({ token: tokenAt(3), at: at(-70), cancelled_at: NOW }, others[4]);
      await store({ token: tokenAt(0), at: at(-60.001) }, others[5]);
      const list = async (limit: number, after: { due: Date; id: string } | null = null) =>
        await listOverdueRetries(fresh.database, at(-60), { after, limit });
      const all = await list(10);
      assert.deepEqual(
        all.map(({ token }) => token),
        [10, 8, 9, 0].map(tokenAt),
      );
      assert.deepEqual(all[2], { deliveryId: delivery, token: tokenAt(9), at: at(-70), attempts: 7 });
      assert.deepEqual(await list(2), all.slice(0, 2));
      assert.deepEqual(await list(10, { due: at(-70), id: tokenAt(8) }), all.slice(2));
    });

    it('marks those as made that had a manual attempt since their time', async () => {
      const attempted = async (seconds: number, values: Record<string, unknown> = {}, retry = {}) => {
        const id = await rows.delivery(webhook);
        const token = randomUUIDv7();
        await store({ token, at: at(-100), ...retry }, id);
        await rows.attempt(id, { trigger: 'manual', attempted_at: at(seconds), ...values });
        return token;
      };
      const made = await attempted(-104.999);
      const others = [
        await attempted(-105),
        await attempted(-99, { trigger: 'automatic' }),
        await attempted(-99, {}, { at: at(-60) }),
      ];
      const [cancelled, started] = [
        await attempted(-99, {}, { cancelled_at: NOW }),
        await attempted(-99, {}, { started_at: NOW }),
      ];
      await markMadeRetries(fresh.database, at(-60));
      assert.deepEqual(await retryRow(made), ['started_at', 'ended_at']);
      for (const token of others) assert.deepEqual(await retryRow(token), []);
      assert.deepEqual(await retryRow(cancelled), ['cancelled_at']);
      assert.deepEqual(await retryRow(started), ['started_at']);
    });

    it('adds its time to the delivery while it waits and can still be made', async () => {
      const scheduledAt = async (status: 'failed' | 'succeeded' = 'failed', attempts_count = 3) => {
        const row = { id: delivery, status, attempts_count, own: 'column' };
        const [found] = await addScheduled(fresh.database, [row]);
        assert.equal(found?.own, 'column');
        return found?.scheduled_at ?? null;
      };
      assert.equal(await scheduledAt(), null);
      await store({ token: tokenAt(1), at: at(50), cancelled_at: NOW });
      await store({ token: tokenAt(2), at: at(60), started_at: NOW });
      assert.equal(await scheduledAt(), null);
      await store({ token: tokenAt(3), at: at(70) });
      assert.deepEqual(await scheduledAt(), at(70));
      assert.deepEqual(await scheduledAt('succeeded'), at(70));
      assert.equal(await scheduledAt('succeeded', 4), null);
      assert.equal(await hasRetryAt(fresh.database, delivery, at(50)), false, 'a cancelled one');
      assert.equal(await hasRetryAt(fresh.database, delivery, at(60)), true, 'a started one');
      assert.equal(await hasRetryAt(fresh.database, delivery, at(70)), true);
      assert.equal(await hasRetryAt(fresh.database, delivery, at(71)), false);
      assert.equal(await hasRetryAt(fresh.database, await rows.delivery(webhook), at(70)), false);
    });

    it('replaces the one that waits, and can be undone', async () => {
      const schedule = async (seconds: number, token = tokenAt(seconds)) =>
        await scheduleRetry(fresh.database, {
          deliveryId: delivery,
          token,
          at: at(seconds),
          attempts: 3,
        });
      const other = await rows.delivery(webhook);
      await store({ token: tokenAt(99), at: at(1) }, other);
      assert.deepEqual(await schedule(1), { replaced: null });
      assert.deepEqual(await schedule(2), { replaced: tokenAt(1) });
      assert.equal(await schedule(2), 'known');
      assert.deepEqual(await retryRow(tokenAt(1)), ['cancelled_at']);
      assert.deepEqual(await retryRow(tokenAt(99)), []);
      const undo = { deliveryId: delivery, token: tokenAt(2), replaced: tokenAt(1) };
      await unscheduleRetry(fresh.database, undo);
      assert.deepEqual([await retryRow(tokenAt(2)), await retryRow(tokenAt(1))], [undefined, []]);
      assert.deepEqual(await schedule(3), { replaced: tokenAt(1) }, 'it waits again');
      assert.equal(await startScheduledRetry(fresh.database, tokenAt(3)), true);
      await unscheduleRetry(fresh.database, { ...undo, token: tokenAt(3) });
      assert.deepEqual(
        [await retryRow(tokenAt(3)), await retryRow(tokenAt(1))],
        [['started_at'], ['cancelled_at']],
        'one that has started stays',
      );
      assert.deepEqual(await schedule(1, tokenAt(4)), { replaced: null }, 'the cancelled one does not count');
    });

    it('starts until its attempt is recorded, ends once, and does neither if it was cancelled', async () => {
      await store({ token: tokenAt(1), at: at(1) });
      const start = async (seconds: number) => await startScheduledRetry(fresh.database, tokenAt(seconds));
      assert.deepEqual([await start(1), await start(1), await start(2)], [true, true, false]);
      const times = async () =>
        await rows.execute('select started_at, ended_at from scheduled_retries where token = ?', [
          tokenAt(1),
        ]);
      await rows.execute('update scheduled_retries set started_at = ? where token = ?', [at(5), tokenAt(1)]);
      await start(1);
      assert.deepEqual(await times(), [{ started_at: at(5), ended_at: null }], 'the first start stays');
      await rows.attempt(delivery, { token: randomUUIDv7() });
      assert.equal(await start(1), true, 'another request has made this attempt');
      await rows.attempt(delivery, { number: 2, token: tokenAt(1) });
      assert.equal(await start(1), false);
      await endScheduledRetry(fresh.database, tokenAt(1));
      const ended = await times();
      assert.deepEqual(await retryRow(tokenAt(1)), ['started_at', 'ended_at']);
      await rows.execute('update scheduled_retries set ended_at = ? where token = ?', [at(6), tokenAt(1)]);
      await endScheduledRetry(fresh.database, tokenAt(1));
      assert.deepEqual(await times(), [{ started_at: at(5), ended_at: at(6) }], JSON.stringify(ended));
      await store({ token: tokenAt(2), at: at(2), cancelled_at: NOW });
      await endScheduledRetry(fresh.database, tokenAt(2));
      assert.deepEqual([await start(2), await retryRow(tokenAt(2))], [false, ['cancelled_at']]);
    });

    it('is cancelled once with an audit entry, unless it has started or there is none', async () => {
      const cancel = async () =>
        await cancelScheduledRetry(fresh.database, { id: delivery, webhook_id: webhook }, entry());
      const audited = async () =>
        await rows.execute('select actor, action, subject, detail, at from audit_log order by id');
      assert.deepEqual(await cancel(), { kind: 'none' });
      await store({ token: tokenAt(1), at: at(1), started_at: NOW });
      assert.deepEqual(await cancel(), { kind: 'started' });
      await store({ token: tokenAt(2), at: at(2) });
      assert.deepEqual(await audited(), []);
      assert.deepEqual(await cancel(), { kind: 'cancelled', token: tokenAt(2) });
      assert.deepEqual(await cancel(), { kind: 'earlier' });
      assert.deepEqual(await retryRow(tokenAt(1)), ['started_at']);
      const { workspaceId: _, ...written } = entry();
      assert.deepEqual(await audited(), [
        { ...written, detail: { by: 'a test', scheduled_at: at(2).toISOString() } },
      ]);
      await store({ token: tokenAt(3), at: at(3), started_at: NOW });
      assert.deepEqual(await cancel(), { kind: 'started' }, 'the last one decides');
    });

    it('that is not made is named by the reason, instead of an earlier one and behind another reason', async () => {
      const reasonAfter = async (seconds: number, why: string) => {
        const note = () =>
          recordUnmadeRetry(fresh.database, { id: delivery, webhook_id: webhook }, { why, at: at(seconds) });
        const { updated_at, reason, ...others } = await changeOf(delivery, note);
        assert.deepEqual([updated_at, others], [at(seconds), {}]);
        return reason;
      };
      const first = String(await reasonAfter(1, 'first'));
      assert.match(first, /2026-03-01T12:00:01.000Z: first$/);
      const second = first.replace('01.000Z: first', '02.000Z: second');
      assert.equal(await reasonAfter(2, 'second'), second);
      await rows.execute(`update deliveries set reason = 'too late' where id = ?`, [delivery]);
      assert.equal(await reasonAfter(1, 'first'), `too late; ${first}`);
      assert.equal(await reasonAfter(2, 'second'), `too late; ${second}`);
    });
  });
});
