import assert from 'node:assert/strict';
import { randomUUIDv7 } from 'node:crypto';
import { pino } from 'pino';
import type { Dependencies as ApiDependencies } from '../../src/api/dependencies.ts';
import { cancelRetry, retryDelivery } from '../../src/api/deliveries/retry.ts';
import { findDelivery } from '../../src/database/webhooks/deliveries.ts';
import { createDeliveryStore } from '../../src/database/webhooks/delivery-store.ts';
import {
  cancelScheduledRetry,
  listOverdueRetries,
  markMadeRetries,
  scheduleRetry,
  startScheduledRetry,
  unscheduleRetry,
} from '../../src/database/webhooks/scheduled-retries.ts';
import { recordResults } from '../../src/database/webhooks/delivery-results.ts';
import { Delivery } from '../../src/database/webhooks/entities.ts';
import { startOverdueRetries } from '../../src/reconciler/forgotten-deliveries.ts';
import { attemptWorkflowId, type AttemptInput } from '../../src/temporal/delivery-messages.ts';
import { EngineUnavailable, EngineUncertain } from '../../src/temporal/task-control.ts';
import { useReceiver } from '../support/callback-receiver.ts';
import { useOwnDeliveries } from '../support/deliveries.ts';
import { eventually } from '../support/eventually.ts';
import { successOf } from '../support/results.ts';
import { services } from '../support/services.ts';

const SOON_MS = 300;

/** The timer in Temporal and the row in the database, which decides. */
describe('a scheduled retry', () => {
  const world = useOwnDeliveries();
  const receiver = useReceiver('each test', () => ({ tls: services().tls }));

  /** A delivery after its first attempt, with a stored retry. `input` is its attempt's. */
  async function scheduled(dueMs = 3_600_000, status: 'succeeded' | 'retrying' = 'succeeded') {
    receiver.answering(status === 'succeeded' ? 204 : 500);
    const webhookId = await world.webhook({ url: receiver.url });
    await world.publish([{}]);
    const row = await eventually('the first attempt', async () => {
      const [found] = await world.deliveries(webhookId);
      return found?.status === status && found;
    });
    const retry = {
      deliveryId: row.id,
      token: randomUUIDv7(),
      at: new Date(Date.now() + dueMs),
      attempts: row.attempts_count,
    };
    assert.deepEqual(await scheduleRetry(world.database, retry), { replaced: null });
    const { deliveryId, token, attempts } = retry;
    return {
      row,
      retry,
      input: { deliveryId, token, attempts, trigger: 'manual', scheduled: true } as const,
    };
  }
  const cancel = (row: { id: string; webhook_id: string }) =>
    cancelScheduledRetry(world.database, row, {
      workspaceId: world.installation.workspace_id,
      actor: 'test',
      action: 'delivery.retry_cancelled',
      subject: `delivery:${row.id}`,
      at: new Date(),
    });
  const ended = (token: string) => world.client.workflow.getHandle(attemptWorkflowId(token)).result();
  /** Lets the reconciler start what is overdue, also of other files. Returns the tokens. */
  const reconcile = async (): Promise<string[]> => {
    const started: string[] = [];
    await startOverdueRetries({
      store: createDeliveryStore(world.database),
      deliveryControl: {
        ...world.control,
        async attemptOverdue(input) {
          const outcome = await world.control.attemptOverdue(input);
          if (outcome !== 'known') started.push(input.token);
          return outcome;
        },
      },
      clock: () => new Date(),
      log: pino({ level: 'silent' }),
      positions: { deliveries: null, retries: null },
    });
    return started;
  };
  const attemptsOf = async (id: string) => (await world.attempts(id)).length;

  it('is made when its timer is due', async () => {
    const { row, input } = await scheduled();
    await world.control.attempt(input, SOON_MS);
    await ended(input.token);
    assert.equal(await attemptsOf(row.id), 2);
    assert.deepEqual(await cancel(row), { kind: 'started' });
  });

  it('that was cancelled is not made, even if its timer stays and the workers were restarted', async () => {
    const { row, input } = await scheduled();
    assert.deepEqual(await cancel(row), { kind: 'cancelled', token: input.token });
    await world.control.attempt(input, SOON_MS);
    await world.restartWorkers();
    await ended(input.token);
    assert.equal(await attemptsOf(row.id), 1);
  });

  it('that was replaced is not made', async () => {
    const { row, retry, input } = await scheduled();
    const other = { ...retry, token: randomUUIDv7(), at: new Date(retry.at.getTime() + 1) };
    assert.deepEqual(await scheduleRetry(world.database, other), { replaced: input.token });
    await world.control.attempt(input);
    await ended(input.token);
    assert.equal(await attemptsOf(row.id), 1);
  });

  it('that cannot be made says so in the reason of its delivery, and makes no attempt', async () => {
    const { row, retry, input } = await scheduled();
    const skipped = { status: 'skipped', reason: 'status is "Open", not "Done"' } as const;
    await world.database.em.fork().nativeUpdate(Delivery, { id: row.id }, skipped);
    const states = [
      [{ active: false }, 'the webhook is inactive'],
      [{ disabled_at: new Date() }, 'the webhook is disabled'],
      [{ deleted_at: new Date() }, 'the webhook was deleted'],
    ] as const;
    for (const [index, [change, why]] of states.entries()) {
      await world.changeWebhook(row.webhook_id, { active: true, ...change });
      const token = randomUUIDv7();
      const at = new Date(retry.at.getTime() + 1 + index);
      await scheduleRetry(world.database, { ...retry, token, at });
      await world.control.attempt({ ...input, token });
      await ended(token);
      const [found] = await world.deliveries(row.webhook_id);
      const [, kept, sentence] =
        /^(.*); a manual retry was not made at \S+Z: (.*)$/.exec(found?.reason ?? '') ?? [];
      assert.deepEqual([found?.status, kept, sentence], ['skipped', skipped.reason, why]);
    }
    assert.equal(await attemptsOf(row.id), 1);
  });

  it('that cannot be made is forgotten once the delivery succeeds', async () => {
    const { row, input } = await scheduled(3_600_000, 'retrying');
    await world.changeWebhook(row.webhook_id, { active: false });
    await world.control.attempt(input);
    await ended(input.token);
    const [unmade] = await world.deliveries(row.webhook_id);
    assert.match(unmade?.reason ?? '', /^a manual retry was not made at \S+Z: the webhook is inactive$/);
    assert.deepEqual([unmade?.status, unmade?.next_attempt_at], ['retrying', row.next_attempt_at]);
    await world.changeWebhook(row.webhook_id, { active: true });
    receiver.answering(204);
    const token = randomUUIDv7();
    await world.control.attempt({ deliveryId: row.id, token, attempts: 1, trigger: 'manual' });
    await ended(token);
    const [made] = await world.deliveries(row.webhook_id);
    assert.deepEqual([made?.status, made?.reason], ['succeeded', null]);
  });

  it('stays if Temporal does not accept the timer of another one', async () => {
    const { row, retry, input } = await scheduled();
    const other = { ...retry, token: randomUUIDv7(), at: new Date(retry.at.getTime() + 1) };
    await scheduleRetry(world.database, other);
    await unscheduleRetry(world.database, { ...other, replaced: input.token });
    await world.control.attempt(input);
    await ended(input.token);
    assert.equal(await attemptsOf(row.id), 2);
  });

  it('is made if its worker died after it had started', async () => {
    const { row, input } = await scheduled();
    assert.ok(await startScheduledRetry(world.database, input.token));
    await world.control.attempt(input);
    await ended(input.token);
    assert.equal(await attemptsOf(row.id), 2);
  });

  it('is not made again if its worker died after its attempt was recorded', async () => {
    const { row, input } = await scheduled(3_600_000, 'retrying');
    for (const _ of ['made', 'repeated']) {
      await world.control.attemptOverdue(input);
      await ended(input.token);
    }
    assert.equal(await attemptsOf(row.id), 2);
  });

  it('of a previous version, which stored none, is made', async () => {
    const { row, input } = await scheduled();
    await cancel(row);
    const { scheduled: _scheduled, ...earlier } = { ...input, token: randomUUIDv7() };
    await world.control.attempt(earlier, SOON_MS);
    await ended(earlier.token);
    assert.equal(await attemptsOf(row.id), 2);
  });

  it('can have its timer ended, more than once', async () => {
    const { input } = await scheduled();
    await world.control.attempt(input, 3_600_000);
    await world.control.endAttempt(input.token, 'a test');
    await world.control.endAttempt(input.token, 'a test');
    await assert.rejects(ended(input.token), /WorkflowFailedError/);
  });

  it('is not made again by the reconciler if a worker of the previous version made it', async () => {
    const { row, input } = await scheduled(-61_000, 'retrying');
    const { scheduled: _scheduled, ...unread } = input;
    await world.control.attempt(unread);
    await ended(input.token);
    assert.ok(!(await reconcile()).includes(input.token));
    assert.equal(await attemptsOf(row.id), 2);
    assert.deepEqual(await cancel(row), { kind: 'started' });
  });

  it('is made although another manual retry was made before its time', async () => {
    const { row, retry } = await scheduled(-61_000);
    const earlier = new Date(retry.at.getTime() - 60_000).toISOString();
    const result = successOf(row, { trigger: 'manual', token: randomUUIDv7(), attempted_at: earlier });
    await recordResults(world.database, [result]);
    await markMadeRetries(world.database, new Date());
    const overdue = await listOverdueRetries(world.database, new Date(), { after: null, limit: 1_000 });
    assert.ok(overdue.some(({ token }) => token === retry.token));
    await cancel(row);
  });

  it('is started again by the reconciler if its workflow was terminated after it had started', async () => {
    const { row, input } = await scheduled(-61_000);
    assert.ok(await startScheduledRetry(world.database, input.token));
    assert.ok((await reconcile()).includes(input.token));
    await ended(input.token);
    assert.equal(await attemptsOf(row.id), 2);
    assert.ok(!(await reconcile()).includes(input.token));
  });

  it('that could not be made is not started again by the reconciler', async () => {
    const { row, input } = await scheduled(-61_000);
    await world.changeWebhook(row.webhook_id, { active: false });
    await world.control.attempt(input);
    await ended(input.token);
    await world.changeWebhook(row.webhook_id, { active: true });
    assert.ok(!(await reconcile()).includes(input.token));
    assert.equal(await attemptsOf(row.id), 1);
  });

  it('is started by the reconciler if it is overdue and has no timer', async () => {
    const { row, retry, input } = await scheduled(-61_000);
    const later = await scheduled();
    const started = await reconcile();
    assert.deepEqual([started.includes(retry.token), started.includes(later.retry.token)], [true, false]);
    await ended(retry.token);
    assert.equal(await attemptsOf(row.id), 2);
    assert.ok(!(await reconcile()).includes(retry.token));
    const overdue = await listOverdueRetries(world.database, new Date(), { after: null, limit: 10 });
    assert.ok(overdue.every(({ token }) => token !== retry.token));
    assert.notEqual(later.retry.token, input.token);
    assert.equal(await attemptsOf(later.row.id), 1);
  });

  describe('over HTTP', () => {
    /** Returns what schedules and cancels the retry of a delivery, and the calls of Temporal. Timers are started with `attempt`. */
    async function requested(attempt: () => Promise<void>, ready = async () => {}) {
      receiver.answering(204);
      const webhookId = await world.webhook({ url: receiver.url });
      await world.publish([{}]);
      const { id } = await eventually('the first attempt', async () => {
        const [found] = await world.deliveries(webhookId);
        return found?.status === 'succeeded' && found;
      });
      const calls: string[] = [];
      const deps = {
        database: world.database,
        control: { ready },
        clock: () => new Date(),
        deliveryControl: {
          async attempt({ token }: AttemptInput) {
            calls.push(`start ${token}`);
            await attempt();
          },
          endAttempt: async (token: string) => void calls.push(`end ${token}`),
        },
      } as unknown as ApiDependencies;
      const who = { workspaceId: world.installation.workspace_id, actor: 'test', id };
      return {
        calls,
        schedule: (at: Date) => retryDelivery(deps, { ...who, at, claim: null }),
        cancel: () => cancelRetry(deps, who),
        dueAt: async () => (await findDelivery(world.database, who))?.scheduled_at?.getTime() ?? null,
      };
    }
    const inHours = (hours: number) => new Date(Date.now() + hours * 3_600_000);

    it('ends the timer that it replaces, and its own when it is cancelled', async () => {
      const { calls, schedule, cancel: end, dueAt } = await requested(async () => {});
      await schedule(inHours(1));
      const second = inHours(2);
      await schedule(second);
      assert.equal(await dueAt(), second.getTime());
      assert.equal((await end()).status, 204);
      assert.equal((await end()).status, 204);
      const [first = '', other = ''] = calls.filter((call) => call.startsWith('start'));
      const endOf = (call: string) => call.replace('start', 'end');
      assert.deepEqual(calls, [first, other, endOf(first), endOf(other)]);
    });

    it('starts its timer once more if the result of the first try is unknown', async () => {
      let tries = 0;
      const { calls, schedule, dueAt } = await requested(async () => {
        tries += 1;
        if (tries === 1) throw new EngineUncertain('no response');
      });
      const at = inHours(1);
      assert.equal((await schedule(at)).status, 202);
      assert.equal(await dueAt(), at.getTime());
      assert.deepEqual([calls.length, new Set(calls).size], [2, 1], 'the same timer');
    });

    it('is refused if its timer cannot be started, and nothing is stored', async () => {
      const uncertain = await requested(() => Promise.reject(new EngineUncertain('no response')));
      await assert.rejects(uncertain.schedule(inHours(1)), /Temporal is unavailable/);
      assert.equal(await uncertain.dueAt(), null);
      const unavailable = () => Promise.reject(new EngineUnavailable('no connection'));
      const { calls, schedule, dueAt } = await requested(async () => {}, unavailable);
      await assert.rejects(schedule(inHours(1)), EngineUnavailable);
      assert.deepEqual([await dueAt(), calls], [null, []]);
    });
  });
});
