import assert from 'node:assert/strict';
import { randomUUIDv7 } from 'node:crypto';
import { storeAnswerWithChange, takeOverClaim } from '../../src/database/common/idempotency-claims.ts';
import { lowestIdAt } from '../../src/database/common/ids.ts';
import { readStoredCounts } from '../../src/database/common/metrics.ts';
import { renewGroup } from '../../src/database/common/renewed-groups.ts';
import * as removals from '../../src/database/common/retention.ts';
import { readSealedSamples } from '../../src/database/common/sealed-values.ts';
import { readWaitingWork } from '../../src/database/common/waiting-work.ts';
import { recordChange } from '../../src/database/tasks/feed.ts';
import { createIdempotencyKeys, deleteOldKeys } from '../../src/database/tasks/idempotency.ts';
import { findRun } from '../../src/database/tasks/task-runs.ts';
import { readWebhookHealth, readWebhookHours } from '../../src/database/webhooks/webhook-stats.ts';
import {
  changeWebhook,
  createWebhook,
  deleteWebhook,
  deleteWebhookOnly,
  rotateSecret,
} from '../../src/database/webhooks/webhooks.ts';
import { listDeliveries, type DeliveryFilter } from '../../src/database/webhooks/deliveries.ts';
import { useInstallation } from '../support/installation.ts';
import { idAt, storedRows } from '../support/stored-rows.ts';

const NOW = new Date('2026-03-01T12:00:00Z');
const at = (seconds: number) => new Date(NOW.getTime() + seconds * 1_000);
const HOUR = 3_600;

describe('the statements that several parts use', () => {
  const fresh = useInstallation();
  const rows = storedRows(fresh);
  beforeEach(() => rows.clear());
  const ended = { state: 'completed', completed_at: NOW };

  it('count everything that waits, by state', async () => {
    const ago = (seconds: number) => new Date(Date.now() - seconds * 1_000);
    const paused = { state: 'paused', paused_from: 'planning' };
    const states = { initializing: 1, planning: 2, executing: 3 };
    for (const [state, count] of Object.entries(states))
      for (let n = 0; n < count; n += 1) await rows.run({ state, last_seq: 1 });
    await rows.run(paused);
    await rows.run({ ...ended, callback_status: 'pending' });
    await rows.run({ ...ended, callback_status: 'failed', callback_retry_id: randomUUIDv7() });
    await rows.run({ ...ended, callback_status: 'failed' });
    await rows.run({ callback_status: 'pending', state: 'planning' });
    await rows.run({ created_at: ago(100) });
    await rows.run({ created_at: ago(3 * 86_400) });
    const active = await rows.webhook();
    const failing = await rows.webhook({ consecutive_failures: 1 });
    for (const values of [
      { active: false, consecutive_failures: 2 },
      { disabled_at: NOW, consecutive_failures: 10 },
      { disabled_at: NOW, active: false },
      { disabled_at: NOW },
    ])
      await rows.webhook(values);
    const deleted = await rows.webhook({ deleted_at: NOW });
    for (const [webhook, status] of [
      [active, 'pending'],
      [active, 'retrying'],
      [failing, 'retrying'],
      [failing, 'held'],
      [failing, 'held'],
      [failing, 'held'],
      [failing, 'succeeded'],
      [failing, 'failed'],
      [deleted, 'pending'],
    ] as const)
      await rows.delivery(webhook, { status });
    await rows.group({ created_at: ago(500), events: 4 });
    await rows.group({ created_at: ago(3 * 86_400), events: 8 });
    await rows.group({ created_at: ago(700), events: 16, started_at: NOW });
    await rows.group({ created_at: ago(800), events: 32, handed_at: NOW });
    await rows.group({ created_at: ago(4 * 86_400), events: 64, done_at: NOW });
    const { groupsOldestSeconds, waitingForStart, ...counts } = await readStoredCounts(fresh.database);
    assert.deepEqual(counts, {
      tasks: { initializing: 3, planning: 3, executing: 3, paused: 1 },
      webhooks: { active: 1, failing: 1, inactive: 1, disabled: 3 },
      deliveriesWaiting: { pending: 1, retrying: 2, held: 3 },
      callbacksWaiting: 2,
      groupsWaiting: 4,
    });
    const isAbout = (seconds: number, expected: number) => seconds >= expected && seconds < expected + 60;
    assert.ok(isAbout(groupsOldestSeconds, 3 * 86_400), String(groupsOldestSeconds));
    const { tasks, events } = waitingForStart;
    assert.deepEqual([tasks.count, events.count], [2, 12]);
    assert.ok(isAbout(tasks.oldestSeconds, 100), String(tasks.oldestSeconds));
    assert.ok(isAbout(events.oldestSeconds, 500), String(events.oldestSeconds));
    await rows.clear();
    assert.deepEqual(await readWaitingWork(fresh.database), {
      tasks: { count: 0, oldestSeconds: 0 },
      events: { count: 0, oldestSeconds: 0 },
    });
  });

  it('write every field of the view of a run', async () => {
    const run = await rows.run({ callback_url: 'https://receiver.example.com/', callback_status: 'pending' });
    const time = (seconds: number) => at(seconds).toISOString();
    const view = {
      state: 'paused' as const,
      paused_from: 'executing' as const,
      progress: { completed: 0, total: 0 } as never,
      steps: [],
      started_at: time(1),
      paused_at: time(2),
      paused_by: 'user:ada',
      paused_ms: 3,
      completed_at: null,
      duration_ms: null,
      output: null,
      errors: [],
      escalation: null,
      question: { id: 'q', step: 'design', agent: 'ada', text: 'May I?', at: time(4) },
    };
    const entry = { key: 'a', type: 'state.changed' as const, at: time(5), data: { n: 1 } };
    const change = { executionId: run, view, entries: [entry], plan: { steps: [] } as never };
    const paused = await recordChange(fresh.database, change);
    assert.deepEqual(paused, { outcome: 'recorded', lastSeq: 1 });
    const read = async () => {
      const row = (await findRun(fresh.database, run)) ?? assert.fail('no run');
      const names = Object.keys(view).filter((name) => name !== 'progress');
      return Object.fromEntries(names.map((name) => [name, row[name as keyof typeof row] ?? null]));
    };
    const { progress: _, ...columns } = view;
    assert.deepEqual(await read(), { ...columns, started_at: at(1), paused_at: at(2) });
    const failed = {
      ...view,
      state: 'failed' as const,
      paused_from: null,
      paused_at: null,
      paused_by: null,
      completed_at: time(8),
      duration_ms: 9,
      output: { a: 'result' },
      errors: [{ code: 'step_failed', message: 'a message' }] as never,
      escalation: { reason: 'a reason', step: null, agent: null, at: time(7) },
      question: null,
    };
    await recordChange(fresh.database, { ...change, view: failed, entries: [{ ...entry, key: 'b' }] });
    const { progress: __, ...last } = failed;
    assert.deepEqual(await read(), { ...last, started_at: at(1), completed_at: at(8) });
    const [stored] = await rows.execute<Record<string, unknown>>(
      'select last_seq, view_seq, callback_status, callback_body::json as body, plan from task_runs where id = ?',
      [run],
    );
    assert.deepEqual(stored, {
      last_seq: 2,
      view_seq: 2,
      callback_status: 'pending',
      body: {
        execution_id: run,
        status: 'failed',
        duration_ms: 9,
        started_at: time(1),
        completed_at: time(8),
        output: { a: 'result' },
        errors: failed.errors,
      },
      plan: { steps: [] },
    });
    const [event] = await rows.execute('select * from task_events where seq = 1');
    const { written_at: ___, ...written } = event as Record<string, unknown>;
    assert.deepEqual(written, { execution_id: run, seq: 1, ...entry, at: at(5) });
  });

  it('move the events of one unfinished group to a new group that is not started', async () => {
    const [group, other, done] = [
      await rows.group({ created_at: at(1), events: 3, bytes: 30, started_at: NOW, claimed_by: 'one' }),
      await rows.group(),
      await rows.group({ done_at: NOW }),
    ];
    const seqs = [await rows.event({ group_id: group }), await rows.event({ group_id: group })];
    for (const id of [other, done]) await rows.event({ group_id: id });
    const begun = Date.now();
    await renewGroup(fresh.database, group);
    await renewGroup(fresh.database, done);
    const events = await rows.execute<{ group_id: string }>('select group_id from events order by seq');
    const ids = events.map(({ group_id }) => group_id);
    const renewed = ids[0] ?? assert.fail('no event');
    assert.deepEqual(ids, [renewed, renewed, other, done]);
    assert.notEqual(renewed, group);
    assert.ok(renewed >= lowestIdAt(new Date(begun - 1_000)), 'the id begins with the time');
    assert.ok(renewed < lowestIdAt(new Date(begun + 60_000)));
    const [row] = await rows.execute<{ created_at: Date }>('select * from event_groups where id = ?', [
      renewed,
    ]);
    assert.ok(row && row.created_at.getTime() >= begun - 1_000);
    assert.deepEqual(row, {
      id: renewed,
      created_at: row.created_at,
      started_at: null,
      done_at: null,
      events: 3,
      bytes: 30,
      handed_at: null,
      claimed_by: null,
      repeats: true,
    });
    const [old] = await rows.execute<{ done_at: Date | null }>(
      'select done_at from event_groups where id = ?',
      [group],
    );
    assert.ok(old?.done_at, `the old group of ${seqs.join()} is done`);
    const [count] = await rows.execute('select count(*)::integer from event_groups');
    assert.deepEqual(count, { count: 4 });
  });

  it('return one sealed value for each key, also of previous secrets, and that of the newest run', async () => {
    const oldest = await rows.webhook({ secret: 'v1.first.a' });
    const newest = await rows.webhook({ secret: 'v1.first.b', previous_secret: 'v1.second.c' });
    await rows.webhook();
    await rows.run({ callback_secret: 'v1.third.d' });
    const run = await rows.run({ callback_secret: 'v1.third.e' });
    assert.ok(oldest < newest);
    assert.deepEqual(await readSealedSamples(fresh.database), [
      { of: 'webhook', id: newest, sealed: 'v1.first.b' },
      { of: 'webhook', id: newest, sealed: 'v1.second.c' },
      { of: 'run', id: run, sealed: 'v1.third.e' },
    ]);
  });

  describe('for idempotency keys', () => {
    beforeEach(async () => {
      await rows.execute('delete from idempotency_keys');
    });
    const scope = () => fresh.installation.project_id;
    const keyRow = async (key: string) => {
      const [row] = await rows.execute<Record<string, unknown>>(
        'select * from idempotency_keys where key = ?',
        [key],
      );
      return row;
    };
    const store = async (key: string, values: object = {}) =>
      await rows.insert('idempotency_keys', {
        project_id: scope(),
        key,
        actor: 'a',
        request_hash: 'hash',
        created_at: NOW,
        ...values,
      });

    it('replace a key after a day, and delete it then', async () => {
      const keys = createIdempotencyKeys(fresh.database);
      const claim = async (seconds: number) =>
        await keys.claim({ scope: scope(), key: 'one', actor: 'b', requestHash: 'other', now: at(seconds) });
      await store('one', { answer: 'an answer' });
      assert.deepEqual(await claim(24 * HOUR), { outcome: 'reused' });
      assert.equal(await deleteOldKeys(fresh.database, at(24 * HOUR)), 0);
      await store('two');
      const claimedAt = at(24 * HOUR + 0.001);
      assert.deepEqual(await claim(24 * HOUR + 0.001), { outcome: 'mine', claimedAt, isFirst: true });
      const { taken_at: _, ...row } = (await keyRow('one')) ?? assert.fail('no key');
      assert.deepEqual(row, {
        project_id: scope(),
        key: 'one',
        actor: 'b',
        request_hash: 'other',
        answer: null,
        created_at: claimedAt,
      });
      assert.equal(await deleteOldKeys(fresh.database, at(24 * HOUR + 0.001)), 1);
      assert.deepEqual([await keyRow('two'), (await keyRow('one'))?.['key']], [undefined, 'one']);
    });

    it('are answered and released one by one, in their own scope', async () => {
      const keys = createIdempotencyKeys(fresh.database);
      const { projectId } = await rows.workspace();
      for (const key of ['one', 'two']) await store(key);
      await store('one', { project_id: projectId, actor: 'foreign' });
      await keys.storeAnswer(scope(), 'one', 'an answer');
      const answers = async () =>
        await rows.execute<{ key: string }>(
          'select key, actor, answer from idempotency_keys order by actor, key',
        );
      const foreign = { key: 'one', actor: 'foreign', answer: null };
      assert.deepEqual(await answers(), [
        { key: 'one', actor: 'a', answer: 'an answer' },
        { key: 'two', actor: 'a', answer: null },
        foreign,
      ]);
      for (const key of ['one', 'two']) await keys.release(scope(), key);
      assert.deepEqual(await answers(), [{ key: 'one', actor: 'a', answer: 'an answer' }, foreign]);
      assert.deepEqual(await keys.listScopes(fresh.installation.workspace_id), [scope()]);
    });

    it('are taken over a minute after their last use, and store the answer only of the last request', async () => {
      await store('one');
      await store('answered', { answer: 'an answer' });
      const takeOver = async (seconds: number, members: object = {}) =>
        await takeOverClaim(fresh.database, {
          scope: scope(),
          key: 'one',
          claimedAt: NOW,
          takenAt: at(seconds),
          ...members,
        });
      assert.equal(await takeOver(59.999), false);
      assert.equal(await takeOver(99, { key: 'answered' }), false);
      assert.equal(await takeOver(99, { claimedAt: at(1) }), false);
      assert.equal(await takeOver(99, { scope: randomUUIDv7() }), false);
      const answer = async (members: object) =>
        await storeAnswerWithChange(
          fresh.database.em.fork(),
          { scope: scope(), key: 'one', claimedAt: NOW, takenAt: null, ...members },
          'the answer',
        );
      assert.equal(await takeOver(60), true);
      assert.deepEqual((await keyRow('one'))?.['taken_at'], at(60));
      assert.equal(await takeOver(119.999), false);
      assert.equal(await takeOver(120), true);
      for (const members of [
        {},
        { takenAt: at(60) },
        { takenAt: at(120), claimedAt: at(1) },
        { takenAt: at(120), scope: randomUUIDv7() },
        { key: 'answered' },
      ])
        assert.equal(await answer(members), false, JSON.stringify(members));
      assert.equal(await answer({ takenAt: at(120) }), true);
      assert.deepEqual(
        [(await keyRow('one'))?.['answer'], (await keyRow('answered'))?.['answer']],
        ['the answer', 'an answer'],
      );
      await store('two');
      assert.equal(await answer({ key: 'two' }), true, 'the first request');
    });
  });

  describe('for retention', () => {
    let webhook: string;
    beforeEach(async () => {
      webhook = await rows.webhook();
      await rows.execute('delete from retention_marks');
    });
    const keysOf = async (table: string, key: string) =>
      (await rows.execute<{ key: unknown }>(`select ${key} as key from ${table} order by 1`)).map((row) =>
        String(row.key),
      );
    const span = (limit: number, after: string | null = null) => ({ before: NOW, after, limit });

    it('remove rows by the time in their ids, in batches', async () => {
      const old = [idAt(at(-0.003)), idAt(at(-0.002)), idAt(at(-0.001))];
      const young = idAt(NOW, 0);
      for (const id of [...old, young]) {
        await rows.attempt(await rows.delivery(webhook, { id }));
        await rows.attempt(id, { number: 2 });
        await rows.group({ id });
      }
      // A delivery of an earlier batch of the previous version, which knew no attempts without deliveries.
      await rows.attempt(idAt(at(-0.004)));
      for (const [table, remove] of [
        ['deliveries', removals.removeDeliveries],
        ['event_groups', removals.removeGroups],
      ] as const) {
        assert.deepEqual(await remove(fresh.database, span(2)), { rows: 2, next: old[1] });
        assert.deepEqual(await remove(fresh.database, span(2, old[2])), { rows: 0, next: null });
        assert.deepEqual(await remove(fresh.database, span(2, old[1])), { rows: 1, next: null });
        assert.deepEqual(await keysOf(table, 'id'), [young]);
      }
      assert.deepEqual(await keysOf('delivery_attempts', 'delivery_id'), [young, young]);
    });

    it('remove skipped deliveries that were never sent', async () => {
      const skipped = { status: 'skipped' };
      const [first, second] = [idAt(at(-5)), idAt(at(-3))];
      await rows.delivery(webhook, { id: first, ...skipped });
      await rows.delivery(webhook, { id: idAt(at(-4)), ...skipped, attempts_count: 1 });
      await rows.delivery(webhook, { id: second, ...skipped });
      await rows.delivery(webhook, { id: idAt(at(-2)), status: 'held' });
      await rows.delivery(webhook, { id: idAt(NOW, 0), ...skipped });
      const remove = removals.removeSkipped;
      assert.deepEqual(await remove(fresh.database, span(1)), { rows: 1, next: first });
      assert.deepEqual(await remove(fresh.database, span(9, first)), { rows: 1, next: null });
      assert.deepEqual(await keysOf('deliveries', 'id'), [idAt(at(-4)), idAt(at(-2)), idAt(NOW, 0)]);
    });

    it('remove old events, erase payloads up to the first young one, and answers of old deliveries', async () => {
      const add = async (seconds: number) =>
        await rows.event({ id: `evt_${seconds}`, received_at: at(seconds), words: 'secret' });
      const seqs = [await add(-4), await add(-3), await add(-0.001), await add(0), await add(-2)];
      const erase = removals.eraseEventPayloads;
      assert.deepEqual(await erase(fresh.database, span(2)), { rows: 2, next: String(seqs[1]) });
      assert.deepEqual(await erase(fresh.database, span(9)), { rows: 1, next: null }, 'from the mark');
      const left = await rows.execute('select id, words from events where body is not null order by seq');
      assert.deepEqual(left, [
        { id: 'evt_0', words: 'secret' },
        { id: 'evt_-2', words: 'secret' },
      ]);
      const [first] = await rows.execute('select words, search from events where seq = ?', [seqs[0]]);
      assert.deepEqual(first, { words: '', search: null });
      const remove = removals.removeEvents;
      assert.deepEqual(await remove(fresh.database, span(2)), { rows: 2, next: String(seqs[1]) });
      assert.deepEqual(await remove(fresh.database, span(9, String(seqs[1]))), { rows: 2, next: null });
      assert.deepEqual(await keysOf('events', 'id'), ['evt_0']);

      const response = { response_headers: '{}', response_body: 'a body' };
      const [one, two, young] = [idAt(at(-2)), idAt(at(-0.001)), idAt(NOW, 0)];
      for (const id of [one, two, young]) await rows.attempt(await rows.delivery(webhook, { id }), response);
      await rows.attempt(two, { number: 2, response_body: 'a body' });
      await rows.attempt(two, { number: 3, response_headers: '{}' });
      await rows.attempt(two, { number: 4 });
      const answers = removals.eraseAnswers;
      assert.deepEqual(await answers(fresh.database, span(1)), { rows: 1, next: one });
      assert.deepEqual(await answers(fresh.database, span(9)), { rows: 3, next: null });
      const kept = await rows.execute(
        `select delivery_id, response_body, response_headers from delivery_attempts
         where response_body is not null or response_headers is not null`,
      );
      assert.deepEqual(kept, [{ delivery_id: young, response_body: 'a body', response_headers: {} }]);
    });

    it('remove old notices, the oldest first, and deleted webhooks without deliveries', async () => {
      const [user] = await rows.execute<{ id: string }>('select id from users limit 1');
      for (const seconds of [-0.001, -3, -2, 0]) {
        await rows.insert('notifications', {
          id: randomUUIDv7(),
          workspace_id: fresh.installation.workspace_id,
          user_id: user?.id,
          kind: 'task.asked',
          subject: `task:${seconds}`,
          created_at: at(seconds),
        });
      }
      const notices = removals.removeNotifications;
      assert.deepEqual(await notices(fresh.database, span(2)), { rows: 2, next: '' });
      assert.deepEqual(await keysOf('notifications', 'subject'), ['task:-0.001', 'task:0']);
      assert.deepEqual(await notices(fresh.database, span(2)), { rows: 1, next: null });
      const [full, young] = [
        await rows.webhook({ deleted_at: at(-1) }),
        await rows.webhook({ deleted_at: NOW }),
      ];
      await rows.delivery(full);
      for (let n = 0; n < 3; n += 1) await rows.webhook({ deleted_at: at(-0.001) });
      const webhooks = removals.removeDeletedWebhooks;
      assert.deepEqual(await webhooks(fresh.database, span(2)), { rows: 2, next: '' });
      assert.deepEqual(await webhooks(fresh.database, span(2)), { rows: 1, next: null });
      assert.deepEqual(await keysOf('webhooks', 'id'), [webhook, full, young].toSorted());
    });
  });

  describe('for webhooks', () => {
    const context = (id: string) => ({
      workspaceId: fresh.installation.workspace_id,
      id,
      actor: 'user:ada',
      now: at(1),
    });
    const webhookRow = async (id: string) => {
      const [row] = await rows.execute<Record<string, unknown>>('select * from webhooks where id = ?', [id]);
      return row ?? assert.fail('no webhook');
    };
    const audited = async () =>
      await rows.execute('select actor, action, subject, detail, at from audit_log order by id');

    it('create one with every field, up to the limit of its workspace', async () => {
      const { workspaceId: foreign } = await rows.workspace();
      for (let n = 0; n < 3; n += 1) await rows.webhook({ workspace_id: foreign });
      await rows.webhook({ deleted_at: NOW });
      const webhook = {
        id: idAt(NOW, 1),
        name: 'A name',
        description: 'A description',
        url: 'https://other.example.com/',
        events: [{ event: 'issue.created' as const, filters: [] }],
        secret: 'sealed',
        include_secret_header: true,
        standard_webhooks: false,
        active: false,
        listening_until: at(9),
      };
      const { id: _, ...plan } = { ...context(''), most: 2 };
      const created = await createWebhook(fresh.database, { ...plan, webhook });
      assert.ok(created !== 'full');
      const empty = {
        workspace_id: fresh.installation.workspace_id,
        previous_secret: null,
        previous_secret_until: null,
        consecutive_failures: 0,
        enabled_count: 0,
        disabled_at: null,
        disabled_reason: null,
        deleted_at: null,
      };
      const stored = { ...webhook, ...empty, created_by: 'user:ada', created_at: at(1), updated_at: at(1) };
      assert.deepEqual(await webhookRow(webhook.id), stored);
      const again = await createWebhook(fresh.database, { ...plan, webhook: { ...webhook, name: 'Other' } });
      assert.deepEqual({ ...(again as object) }, { ...(created as object) });
      const entry = {
        actor: 'user:ada',
        action: 'webhook.created',
        subject: `webhook:${webhook.id}`,
        detail: { name: 'A name', events: ['issue.created'] },
        at: at(1),
      };
      assert.deepEqual(await audited(), [entry]);
      const { description: __, listening_until: ___, ...plain } = webhook;
      const second = {
        ...plain,
        id: idAt(NOW, 2),
        include_secret_header: false,
        standard_webhooks: true,
        active: true,
      };
      assert.notEqual(await createWebhook(fresh.database, { ...plan, webhook: second }), 'full');
      const { description, listening_until, active } = await webhookRow(second.id);
      assert.deepEqual([description, listening_until, active], [null, null, true]);
      const third = { ...second, id: idAt(NOW, 3) };
      assert.equal(await createWebhook(fresh.database, { ...plan, webhook: third }), 'full');
      assert.notEqual(await createWebhook(fresh.database, { ...plan, webhook: second }), 'full');
    });

    it('enable one once with a new count of failures, and record other changes apart', async () => {
      const disabled = {
        consecutive_failures: 7,
        disabled_at: NOW,
        disabled_reason: 'a reason',
        enabled_count: 4,
        secret: 'sealed',
        previous_secret: 'sealed before',
        previous_secret_until: at(99),
        updated_at: NOW,
        active: true,
      };
      const id = await rows.webhook(disabled);
      const before = await webhookRow(id);
      const change = async (members: object) => {
        await changeWebhook(fresh.database, context(id), () => members);
        const after = await webhookRow(id);
        return Object.fromEntries(
          Object.entries(after).filter(
            ([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name]),
          ),
        );
      };
      assert.deepEqual(await change({ name: 'A webhook', url: undefined }), {});
      assert.deepEqual(await change({ description: 'New' }), { description: 'New', updated_at: at(1) });
      assert.deepEqual(await change({ active: true }), {
        description: 'New',
        updated_at: at(1),
        consecutive_failures: 0,
        disabled_at: null,
        disabled_reason: null,
        enabled_count: 5,
      });
      const enabled = await change({ active: true, secret: 'sealed again' });
      assert.deepEqual(
        [
          enabled['enabled_count'],
          enabled['secret'],
          enabled['previous_secret'],
          enabled['previous_secret_until'],
        ],
        [5, 'sealed again', null, null],
      );
      await change({ active: false, name: 'New name' });
      assert.equal((await change({ active: true, url: 'https://other.example.com/' }))['enabled_count'], 6);
      const entries = (await audited()) as { action: string; detail: Record<string, unknown> }[];
      assert.deepEqual(
        entries.map(({ action, detail }) => [action, detail['changed'] ?? null, detail['name']]),
        [
          ['webhook.changed', ['description'], 'A webhook'],
          ['webhook.enabled', null, 'A webhook'],
          ['webhook.changed', ['secret'], 'A webhook'],
          ['webhook.changed', ['name', 'active'], 'New name'],
          ['webhook.enabled', null, 'New name'],
          ['webhook.changed', ['url'], 'New name'],
        ],
      );
      const { workspaceId } = await rows.workspace();
      const foreign = { ...context(id), workspaceId };
      assert.equal(await changeWebhook(fresh.database, foreign, () => ({ name: 'x' })), null);
    });

    it('rotate a secret with an overlap, and delete one without its secrets', async () => {
      const id = await rows.webhook({ secret: 'first', updated_at: NOW });
      const rotate = async (secret: string, previousUntil: Date | null) => {
        await rotateSecret(fresh.database, { ...context(id), previousUntil }, () => secret);
        const row = await webhookRow(id);
        return [row['secret'], row['previous_secret'], row['previous_secret_until'], row['updated_at']];
      };
      assert.deepEqual(await rotate('second', at(9)), ['second', 'first', at(9), at(1)]);
      assert.deepEqual(await rotate('third', null), ['third', null, null, at(1)]);
      await rows.execute('update webhooks set secret = null');
      assert.deepEqual(await rotate('fourth', at(9)), ['fourth', null, null, at(1)]);
      assert.deepEqual(await rotate('fifth', at(9)), ['fifth', 'fourth', at(9), at(1)]);
      const details = (await audited()) as { action: string; detail: object }[];
      const until = at(9).toISOString();
      assert.deepEqual(
        details.map(({ action, detail }) => [action, detail]),
        [until, null, null, until].map((previous_until) => [
          'webhook.secret_rotated',
          { name: 'A webhook', previous_until },
        ]),
      );
      const delivery = await rows.delivery(id);
      assert.equal(await deleteWebhookOnly(fresh.database, context(id), () => false), false);
      assert.equal((await webhookRow(id))['deleted_at'], null);
      assert.equal(await deleteWebhook(fresh.database, context(id)), true);
      const { secret, previous_secret, previous_secret_until, active, deleted_at, updated_at } =
        await webhookRow(id);
      assert.deepEqual(
        [secret, previous_secret, previous_secret_until, active, deleted_at, updated_at],
        [null, null, null, false, at(1), at(1)],
      );
      const [row] = await rows.execute('select status from deliveries where id = ?', [delivery]);
      assert.deepEqual(row, { status: 'cancelled' });
      assert.equal(await deleteWebhook(fresh.database, context(id)), false);
      assert.equal((await audited()).length, 5);
    });

    it('read the state of one without its tests, and its attempts by hour with exact bounds', async () => {
      const [id, other] = [await rows.webhook(), await rows.webhook()];
      const which = { workspaceId: fresh.installation.workspace_id, webhookId: id };
      const health = async () => await readWebhookHealth(fresh.database, which);
      assert.deepEqual(await health(), { lastDeliveryAt: null, last: null, held: 0, nextAttemptAt: null });
      const attempted = { attempts_count: 1, response_status: 503, failure: 'status', response_ms: 34 };
      const delivery = async (seconds: number, values: object = {}, of = id) =>
        await rows.delivery(of, {
          id: idAt(at(seconds)),
          status: 'succeeded',
          updated_at: at(seconds),
          ...values,
        });
      await delivery(-90, { attempts_count: 1, response_status: 200 });
      const last = await delivery(-80, attempted);
      await delivery(-70, { ...attempted, test: true });
      await delivery(-60);
      await delivery(-50, attempted, other);
      for (const n of [1, 2]) await delivery(-40 + n, { status: 'held' });
      for (const n of [4, 3]) await delivery(-30 + n, { status: 'retrying', next_attempt_at: at(n) });
      await delivery(-20, { status: 'failed', next_attempt_at: at(1) });
      await delivery(-10, { status: 'held' }, other);
      await delivery(-9, { status: 'retrying', next_attempt_at: at(1) }, other);
      await rows.attempt(last, { attempted_at: at(-75), trigger: 'test' });
      await rows.attempt(last, { attempted_at: at(-77), number: 2, trigger: 'test' });
      assert.deepEqual(await health(), {
        lastDeliveryAt: at(-75),
        last: { delivery_id: last, response_status: 503, failure: 'status', response_ms: 34 },
        held: 2,
        nextAttemptAt: at(3),
      });
      const { workspaceId } = await rows.workspace();
      assert.equal(await readWebhookHealth(fresh.database, { ...which, workspaceId }), null);
      await rows.execute('delete from deliveries');

      const attempts = async (of: string, ...list: [number, object?][]) => {
        for (const [index, [seconds, values]] of list.entries())
          await rows.attempt(of, { number: index + 1, attempted_at: at(seconds), ...values });
      };
      const counted = await delivery(-4 * HOUR, { attempts_count: 9 });
      await attempts(
        counted,
        [-2 * HOUR - 0.001],
        [-2 * HOUR, { failure: 'status', response_status: 500, response_ms: 7 }],
        [-HOUR - 0.001, { response_status: 204, response_ms: 5 }],
        [-HOUR, { failure: 'timeout', response_ms: 30 }],
        [-HOUR + 1, { failure: 'connection', response_ms: 99 }],
        [-0.001, { response_status: 200, response_ms: 20 }],
        [0],
      );
      await attempts(await delivery(-300, { attempts_count: 0 }), [-200]);
      await attempts(await delivery(-301, { attempts_count: 1, test: true }), [-200]);
      await attempts(await delivery(-302, { attempts_count: 1 }, other), [-200]);
      const old = { created_at: at(-4_000 * HOUR), attempts_count: 1 };
      const oldId = (n: number) => ({ ...old, id: idAt(at(-4_000 * HOUR), n) });
      await attempts(await delivery(-100, { ...oldId(1), generation: 1 }), [-100]);
      await attempts(await delivery(-100, { ...oldId(2) }), [-100]);
      await attempts(await delivery(-100, { ...oldId(3), generation: 1, test: true }), [-100]);
      await attempts(await delivery(-100, { ...oldId(4), updated_at: at(-9 * HOUR) }), [
        -50,
        { trigger: 'manual' },
      ]);
      await attempts(await delivery(-100, { ...oldId(5) }, other), [-40, { trigger: 'manual' }]);
      assert.deepEqual(await readWebhookHours(fresh.database, id, { hours: 2, to: NOW }), {
        to: NOW,
        hours: [
          { succeeded: 1, failed: 1, p95Ms: 7 },
          { succeeded: 3, failed: 2, p95Ms: 30 },
        ],
        lastAttemptAt: at(-0.001),
      });
    });

    it('list the deliveries that meet every condition, those of the newest ids first', async () => {
      const [id, other] = [await rows.webhook(), await rows.webhook()];
      const kinds = ['issue.created', 'issue.updated'] as const;
      const statuses = ['succeeded', 'failed', 'held'] as const;
      type Stored = { id: string; event: string; status: string; at: number };
      const stored: Stored[] = [];
      for (let n = 0; n < 12; n += 1) {
        // The event of each delivery arrived before its creation.
        const row = { event: kinds[n % 2]!, status: statuses[n % 3]!, id: idAt(at(n - 0.5)) };
        await rows.delivery(id, { ...row, created_at: at(n) });
        await rows.delivery(other, { ...row, id: idAt(at(n), 2), created_at: at(n) });
        stored.unshift({ ...row, at: n });
      }
      const list = async (filter: Partial<DeliveryFilter>) =>
        (
          await listDeliveries(fresh.database, {
            workspaceId: fresh.installation.workspace_id,
            webhookId: id,
            limit: 50,
            ...filter,
          })
        ).map((row) => row.id);
      const expected = (condition: (row: Stored) => boolean) => stored.filter(condition).map((row) => row.id);
      for (const given of [undefined, ['failed'], ['failed', 'held'], ['succeeded', 'failed']] as const)
        for (const events of [undefined, ['issue.updated'], kinds] as const) {
          const filter = { statuses: given, events };
          const isOf = (row: Stored) =>
            (!given || (given as readonly string[]).includes(row.status)) &&
            (!events || (events as readonly string[]).includes(row.event));
          assert.deepEqual(await list(filter), expected(isOf), JSON.stringify(filter));
          assert.deepEqual(await list({ ...filter, limit: 2 }), expected(isOf).slice(0, 2));
        }
      assert.deepEqual(
        await list({ cursor: idAt(at(4.5)) }),
        expected((row) => row.at < 5),
      );
      assert.deepEqual(
        await list({ createdAfter: at(5) }),
        expected((row) => row.at >= 5),
      );
      assert.deepEqual(
        await list({ createdBefore: at(5) }),
        expected((row) => row.at < 5),
      );
    });
  });
});
