import assert from 'node:assert/strict';
import { randomUUID, randomUUIDv7 } from 'node:crypto';
import type { Dependencies } from '../../src/api/dependencies.ts';
import { checkReceivesDeliveries, retryDelivery } from '../../src/api/deliveries/retry.ts';
import { idOfClaim } from '../../src/api/http/idempotency.ts';
import type { Claim } from '../../src/api/http/route.ts';
import { draftTest, testWebhook } from '../../src/api/webhooks/test.ts';
import { derivedUuid } from '../../src/database/common/ids.ts';
import type { WebhookRow } from '../../src/database/webhooks/webhooks.ts';
import { MAX_RETRY_AHEAD_DAYS, TEST_DRAFT_MS } from '../../src/domain/common/limits.ts';
import { sampleData } from '../../src/domain/webhooks/event-samples.ts';
import { EngineUncertain, EngineUnavailable } from '../../src/temporal/task-control.ts';
import { useInstallation } from '../support/installation.ts';

const NOW = new Date('2026-01-31T12:00:00.000Z');
const inMs = (ms: number) => new Date(NOW.getTime() + ms);
type Attempt = { input: Record<string, unknown>; delayMs: number };

describe('a request that sends something to a webhook', () => {
  const fresh = useInstallation();
  const execute = <Row>(text: string, values: unknown[] = []) =>
    fresh.database.em.fork().execute<Row[]>(text, values);

  /** Stores a webhook with a delivery that has failed. */
  async function stored(fields: { active?: boolean; body?: string | null; status?: string } = {}) {
    const { active = true, body = '{"data":{}}', status = 'failed' } = fields;
    const { workspace_id: workspaceId } = fresh.installation;
    const [webhookId, id, groupId] = [randomUUIDv7(), randomUUIDv7(), randomUUIDv7()];
    await execute(
      `insert into webhooks (id, workspace_id, name, url, events, active, created_by, created_at, updated_at)
       values (?, ?, 'The webhook', 'https://example.com/in', '[]', ?, 'key:test', now(), now())`,
      [webhookId, workspaceId, active],
    );
    await execute('insert into event_groups (id, created_at) values (?, now())', [groupId]);
    const [event] = await execute<{ seq: string }>(
      `insert into events (workspace_id, id, group_id, event, "timestamp", content_hash, body, received_at)
       values (?, ?, ?, 'issue.created', now(), '\\x00', ?, now()) returning seq`,
      [workspaceId, `evt_${id}`, groupId, body],
    );
    await execute(
      `insert into deliveries (id, workspace_id, webhook_id, event_seq, event_id, event, status, attempts_count,
         created_at, updated_at)
       values (?, ?, ?, ?, ?, 'issue.created', ?, 3, now(), now())`,
      [id, workspaceId, webhookId, event?.seq, `evt_${id}`, status],
    );
    return { id, webhookId };
  }

  /** Returns dependencies that record what is started. `attempt` fails with these errors first. */
  function recording(failures: Error[] = [], ready = async () => {}) {
    const attempts: Attempt[] = [];
    const ended: string[] = [];
    const started: string[] = [];
    const deps = {
      database: fresh.database,
      clock: () => NOW,
      control: { ready },
      retryStarter: { add: (id: string) => void started.push(id) },
      deliveryControl: {
        async attempt(input: Record<string, unknown>, delayMs: number) {
          attempts.push({ input, delayMs });
          const failure = failures.shift();
          if (failure) throw failure;
        },
        endAttempt: async (token: string, reason: string) => void ended.push(`${token} ${reason}`),
        attemptAndWait: async (input: Record<string, unknown>) => void attempts.push({ input, delayMs: 0 }),
      },
    } as unknown as Dependencies;
    return { deps, attempts, ended, started };
  }
  const request = (id: string, fields: { at?: Date; claim?: Claim } = {}) => ({
    workspaceId: fresh.installation.workspace_id,
    actor: 'user:ada',
    id,
    at: fields.at,
    claim: fields.claim ?? null,
  });
  const audit = (subject: string) =>
    execute<Record<string, unknown>>(
      'select workspace_id, actor, action, detail, at from audit_log where subject = ? order by id',
      [subject],
    );

  it('stores a retry that is due now with its audit entry, once for a claim or for a time in the past', async () => {
    const { id, webhookId } = await stored();
    const { deps, attempts, started } = recording();
    const claim = { scope: 'p', key: 'k', claimedAt: inMs(-1_000), takenAt: null };
    const past = inMs(-5);
    for (const fields of [{ claim }, { claim }, { at: past }, { at: past, claim }, { at: NOW }]) {
      const answer = await retryDelivery(deps, request(id, fields));
      assert.equal(answer.status, 202);
      assert.equal((answer.body as { id: string }).id, id);
    }
    await retryDelivery(deps, request(id));
    const tokens = await execute<{ token: string; attempts: number; webhook_id: string }>(
      'select token, attempts, webhook_id from manual_retries where delivery_id = ? order by seq',
      [id],
    );
    assert.deepEqual(
      tokens.slice(0, 3).map(({ token }) => token),
      [idOfClaim(claim), ...[past, NOW].map((at) => derivedUuid(id, `${id}:retry:${at.toISOString()}`))],
    );
    assert.deepEqual(
      tokens.map((row) => [row.attempts, row.webhook_id]),
      tokens.map(() => [3, webhookId]),
    );
    assert.deepEqual([attempts, started], [[], Array(6).fill(webhookId)]);
    const entries = await audit(`delivery:${id}`);
    assert.equal(entries.length, 4);
    const { at, ...entry } = entries[0] ?? {};
    assert.deepEqual(entry, {
      workspace_id: fresh.installation.workspace_id,
      actor: 'user:ada',
      action: 'delivery.retried',
      detail: { webhook_id: webhookId, name: 'The webhook', in_ms: 0 },
    });
    assert.equal(new Date(String(at)).getTime(), NOW.getTime());
  });

  it('starts the timer of a later retry, at most 30 days ahead, and ends the timer that it replaces', async () => {
    const { id, webhookId } = await stored();
    const { deps, attempts, ended, started } = recording();
    const most = MAX_RETRY_AHEAD_DAYS * 24 * 3_600_000;
    for (const ms of [1, most]) {
      const { body } = await retryDelivery(deps, request(id, { at: inMs(ms) }));
      assert.equal((body as { scheduled_at: string }).scheduled_at, inMs(ms).toISOString());
    }
    await assert.rejects(retryDelivery(deps, request(id, { at: inMs(most + 1) })), {
      code: 'validation_failed',
      message: '`at` must be at most 30 days ahead.',
      errors: [{ pointer: '/at', code: 'not_allowed', message: '`at` must be at most 30 days ahead.' }],
    });
    const tokens = attempts.map(({ input }) => String(input['token']));
    const expected = { trigger: 'manual', attempts: 3, token: null, scheduled: true };
    assert.deepEqual(
      attempts.map(({ input, delayMs }) => [{ ...input, token: null }, delayMs]),
      [1, most].map((ms) => [{ ...expected, deliveryId: id }, ms]),
    );
    assert.deepEqual(ended, [`${tokens[0]} the retry was scheduled for another time`]);
    const details = (await audit(`delivery:${id}`)).map(({ detail }) => detail);
    assert.deepEqual(
      details,
      [1, most].map((ms) => ({ webhook_id: webhookId, name: 'The webhook', in_ms: ms })),
    );
    assert.deepEqual(started, []);
  });

  it('starts a timer twice if the first result is uncertain, and keeps the earlier one if Temporal is unavailable', async () => {
    const { id } = await stored();
    const shownAt = async () => {
      const [row] = await execute<{ at: string }>(
        'select at from scheduled_retries where delivery_id = ? and cancelled_at is null',
        [id],
      );
      return row && new Date(row.at).getTime();
    };
    const uncertain = () => new EngineUncertain('no answer');
    const twice = recording([uncertain()]);
    await retryDelivery(twice.deps, request(id, { at: inMs(1_000) }));
    const [first, second] = twice.attempts.map(({ input }) => input['token']);
    assert.ok(first !== undefined && first === second);
    const never = recording([uncertain(), uncertain()]);
    await assert.rejects(retryDelivery(never.deps, request(id, { at: inMs(2_000) })), {
      code: 'unavailable',
    });
    assert.equal(never.attempts.length, 2);
    const down = recording([new EngineUnavailable('down')]);
    await assert.rejects(retryDelivery(down.deps, request(id, { at: inMs(3_000) })), EngineUnavailable);
    assert.equal(down.attempts.length, 1);
    assert.equal(await shownAt(), inMs(1_000).getTime());
    assert.equal((await audit(`delivery:${id}`)).length, 1);
  });

  it('says why a delivery cannot be retried, before Temporal is asked', async () => {
    const reasonOf = async (fields: Parameters<typeof stored>[0], change = '') => {
      const { id, webhookId } = await stored(fields);
      if (change !== '')
        await execute(`update ${change}`.replace('$webhook', `'${webhookId}'`).replace('$id', `'${id}'`));
      const { deps } = recording([], () => assert.fail('asks Temporal'));
      const error = await retryDelivery(deps, request(id)).catch((caught: unknown) => caught);
      const { code, message } = error as { code: string; message: string };
      assert.equal(code, 'invalid_state');
      assert.deepEqual(await audit(`delivery:${id}`), []);
      return message;
    };
    assert.match(await reasonOf({ active: false }), /webhook is inactive/);
    assert.match(await reasonOf({}, 'webhooks set disabled_at = now() where id = $webhook'), /is disabled/);
    assert.match(await reasonOf({}, 'webhooks set deleted_at = now() where id = $webhook'), /was deleted/);
    assert.match(await reasonOf({}, 'deliveries set test = true where id = $id'), /test delivery cannot/);
    assert.match(await reasonOf({ status: 'pending' }), /still pending/);
    assert.match(await reasonOf({ status: 'cancelled' }), /was cancelled/);
    assert.match(await reasonOf({ body: null }), /payload of this delivery has been deleted/);
    const { id } = await stored();
    const down = recording([], () => Promise.reject(new EngineUnavailable('down')));
    await assert.rejects(retryDelivery(down.deps, request(id)), EngineUnavailable);
    const other = { ...request(id), workspaceId: randomUUID() };
    await assert.rejects(retryDelivery(down.deps, other), { code: 'not_found' });
    assert.doesNotThrow(() => checkReceivesDeliveries({ active: true, disabled_at: null } as WebhookRow));
  });

  describe('with a draft', () => {
    const planOf = (id: string) => ({
      workspaceId: fresh.installation.workspace_id,
      actor: 'user:ada',
      id,
      event: 'issue.created' as const,
      data: undefined,
    });
    const draftAt = (time: Date) => derivedUuid(time, randomUUID());

    it('accepts a draft within a day, from a clock that is a minute ahead at most', async () => {
      const { webhookId } = await stored();
      const outcome = async (draft: string) => {
        const { deps, attempts } = recording();
        const sent = testWebhook(deps, { ...planOf(webhookId), draft });
        const error = (await sent.catch((caught: unknown) => caught)) as { code: string; message: string };
        return [error.code, attempts.map(({ input }) => input['deliveryId']), error.message] as const;
      };
      for (const ms of [-TEST_DRAFT_MS + 1, 0, 59_999]) {
        const draft = draftAt(inMs(ms));
        const [code, attempted, message] = await outcome(draft);
        // Nothing sends the attempt here.
        assert.deepEqual([code, attempted], ['invalid_state', [draft]], `${ms}`);
        assert.match(message, /was deleted before the test was sent/);
      }
      const ofVersion4 = draftAt(NOW).replace(/^(.{14})7/, '$14');
      for (const draft of [draftAt(inMs(-TEST_DRAFT_MS)), draftAt(inMs(60_000)), ofVersion4]) {
        const [code, attempted, message] = await outcome(draft);
        assert.deepEqual([code, attempted], ['validation_failed', []], draft);
        assert.equal(message, '`draft` is unknown or older than a day. Preview a new one.');
      }
    });

    it('sends the payload of the draft, and records both in the audit log', async () => {
      const { webhookId } = await stored();
      const { deps, attempts } = recording();
      const { status, body } = await draftTest(deps, planOf(webhookId));
      assert.equal(status, 200);
      const { draft, request: shown } = body as {
        draft: string;
        request: { method: string; url: string; headers: Record<string, string>; body: string };
      };
      const { id, timestamp, ...payload } = JSON.parse(shown.body);
      const { workspace_id: workspaceId } = fresh.installation;
      assert.deepEqual(payload, {
        event: 'issue.created',
        workspace: { id: workspaceId, name: 'Test' },
        data: JSON.parse(JSON.stringify(sampleData('issue.created'))),
      });
      assert.equal(Date.parse(timestamp), Number.parseInt(draft.replace('-', '').slice(0, 12), 16));
      assert.deepEqual([shown.method, shown.url], ['POST', 'https://example.com/in']);
      assert.equal(shown.headers['x-service-delivery'], draft);
      assert.equal(shown.headers['x-service-event'], 'issue.created');
      assert.equal(shown.headers['x-service-timestamp'], timestamp);
      const clock = () => new Date(timestamp);
      await assert.rejects(testWebhook({ ...deps, clock }, { ...planOf(webhookId), draft }));
      const { token, ...input } = attempts[0]?.input ?? {};
      assert.deepEqual(input, { deliveryId: draft, trigger: 'test', attempts: 0 });
      assert.match(String(token), /^[0-9a-f-]{36}$/);
      const [event] = await execute<{
        body: string;
        words: string;
        event: string;
        at: string;
        received: string;
      }>(`select body, words, event, "timestamp" as at, received_at as received from events where id = ?`, [
        id,
      ]);
      assert.equal(event?.body, shown.body);
      assert.match(event.words, /^SHOP-142 The cart forgets its coupon/);
      for (const time of [event.at, event.received]) assert.equal(new Date(time).toISOString(), timestamp);
      assert.deepEqual(
        (await audit(`webhook:${webhookId}`)).map((entry) => ({ ...entry, at: null })),
        ['webhook.test_previewed', 'webhook.test_sent'].map((action) => ({
          workspace_id: workspaceId,
          actor: 'user:ada',
          action,
          detail: { name: 'The webhook', event: 'issue.created' },
          at: null,
        })),
      );
    });
  });
});
