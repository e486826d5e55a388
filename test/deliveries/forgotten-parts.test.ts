import assert from 'node:assert/strict';
import { pino } from 'pino';
import type { DeliveryStore } from '../../src/database/webhooks/delivery-store.ts';
import {
  holdOrCancelLeftovers,
  regroupStuckEvents,
  restartBacklogs,
  restartEndedRetries,
  startForgottenManualRetries,
  startOverdueRetries,
  startUnsentNotices,
  startUnstartedGroups,
  startUnstartedRetries,
} from '../../src/reconciler/forgotten-deliveries.ts';
import type { DeliveryControl } from '../../src/temporal/delivery-control.ts';
import { useInstallation } from '../support/installation.ts';
import { storedRows } from '../support/stored-rows.ts';

const NOW = new Date('2026-03-01T12:00:00Z');
const at = (seconds: number) => new Date(NOW.getTime() + seconds * 1_000);
const log = pino({ level: 'silent' });

describe('a part of the reconciler that continues work of webhooks', () => {
  type Call = [name: string, ...given: unknown[]];

  /**
   * Returns dependencies that record every call. `answers` are the results of calls by their names; an `Error` is thrown.
   * Calls without an answer return nothing.
   */
  function recorded(answers: Record<string, unknown>) {
    const calls: Call[] = [];
    const recorder = new Proxy(
      {},
      {
        get:
          (_, name: string) =>
          async (...given: unknown[]) => {
            calls.push([name, ...given]);
            if (answers[name] instanceof Error) throw answers[name];
            return answers[name];
          },
      },
    );
    return {
      calls,
      dependencies: {
        store: recorder as DeliveryStore,
        deliveryControl: recorder as DeliveryControl,
        engine: recorder as { hasOpenDispatch: () => Promise<boolean> },
        clock: () => NOW,
        log,
        onAction: (action: string) => void calls.push(['onAction', action]),
        positions: { deliveries: null, retries: null },
      },
    };
  }

  it('starts groups 3 s after they were stored, or a minute after they were passed on, and marks them then', async () => {
    const sizes = { events: 1, bytes: 1 };
    const { calls, dependencies } = recorded({
      listUnstartedGroups: [
        { id: 'one', ...sizes },
        { id: 'two', ...sizes },
      ],
    });
    await startUnstartedGroups(dependencies);
    assert.deepEqual(calls, [
      ['listUnstartedGroups', { before: at(-3), handedBefore: at(-60) }, 500],
      ['dispatch', ['one', 'two']],
      ['markGroupsStarted', ['one', 'two']],
      ['onAction', 'group_started'],
      ['onAction', 'group_started'],
    ]);
    const failing = recorded({
      listUnstartedGroups: [{ id: 'one', ...sizes }],
      dispatch: new Error('Temporal is unavailable'),
    });
    await assert.rejects(startUnstartedGroups(failing.dependencies), /one could not be reconciled/);
    assert.deepEqual(
      failing.calls.map(([name]) => name),
      ['listUnstartedGroups', 'dispatch'],
      'a group that was not started is not marked',
    );
  });

  it('reads unstarted groups at most 20 times in a turn', async () => {
    const groups = Array.from({ length: 500 }, (_, n) => ({ id: `g${n}`, events: 1, bytes: 1 }));
    const { calls, dependencies } = recorded({ listUnstartedGroups: groups });
    await startUnstartedGroups({ ...dependencies, onAction: undefined });
    assert.equal(calls.filter(([name]) => name === 'listUnstartedGroups').length, 20);
  });

  it('renews a group only if no dispatch of its time is open', async () => {
    for (const isOpen of [true, false]) {
      const { calls, dependencies } = recorded({
        listUnfinishedGroups: [{ id: 'one', createdAt: at(-2_000), startedAt: at(-1_000) }],
        hasOpenDispatch: isOpen,
      });
      await regroupStuckEvents(dependencies);
      assert.deepEqual(calls, [
        ['listUnfinishedGroups', { unclaimed: at(-60), claimed: at(-900) }, 100],
        ['hasOpenDispatch', { from: at(-2_660), until: at(-940) }],
        ...(isOpen ? [] : [['renewGroup', 'one']]),
      ]);
    }
  });

  it('starts retries with the time that remains, and marks them then', async () => {
    const { calls, dependencies } = recorded({
      listUnstartedRetries: [{ id: 'one', generation: 4, due: at(7) }],
    });
    await startUnstartedRetries(dependencies);
    assert.deepEqual(calls, [
      ['listUnstartedRetries', at(-3), 500],
      ['startRetries', { deliveryId: 'one', generation: 4 }, 7_000],
      ['markRetriesStarted', { deliveryId: 'one', generation: 4 }],
      ['onAction', 'retry_started'],
    ]);
    const failing = recorded({
      listUnstartedRetries: [{ id: 'one', generation: 4, due: at(7) }],
      startRetries: new Error('Temporal is unavailable'),
    });
    await assert.rejects(startUnstartedRetries(failing.dependencies));
    assert.equal(failing.calls.length, 2);
  });

  it('starts overdue retries a minute after they were due, and counts those that were not open', async () => {
    for (const outcome of ['started', 'known']) {
      const counted = (action: string) => (outcome === 'known' ? [] : [['onAction', action]]);
      const deliveries = recorded({
        listOverdueDeliveries: [{ id: 'one', generation: 4, due: at(-90) }],
        startOverdueRetries: outcome,
      });
      await restartEndedRetries(deliveries.dependencies);
      assert.deepEqual(deliveries.calls, [
        ['listOverdueDeliveries', at(-60), { after: null, limit: 500 }],
        ['startOverdueRetries', { deliveryId: 'one', generation: 4 }],
        ...counted('retry_started'),
      ]);
      const retries = recorded({
        listOverdueRetries: [{ deliveryId: 'one', token: 'two', at: at(-90), attempts: 5 }],
        attemptOverdue: outcome,
      });
      await startOverdueRetries(retries.dependencies);
      assert.deepEqual(retries.calls, [
        ['markMadeRetries', at(-60)],
        ['listOverdueRetries', at(-60), { after: null, limit: 500 }],
        [
          'attemptOverdue',
          { deliveryId: 'one', trigger: 'manual', token: 'two', attempts: 5, scheduled: true },
        ],
        ...counted('scheduled_retry_started'),
      ]);
      assert.deepEqual(retries.dependencies.positions, { deliveries: null, retries: null });
    }
  });

  it('continues behind a full page of overdue work', async () => {
    const many = Array.from({ length: 500 }, (_, n) => ({
      id: `d${n}`,
      token: `t${n}`,
      due: at(n),
      at: at(n),
      generation: 0,
    }));
    const { calls, dependencies } = recorded({
      listOverdueDeliveries: many,
      listOverdueRetries: many,
      startOverdueRetries: 'known',
      attemptOverdue: 'known',
    });
    await restartEndedRetries(dependencies);
    await startOverdueRetries(dependencies);
    const positions = { deliveries: { due: at(499), id: 'd499' }, retries: { due: at(499), id: 't499' } };
    assert.deepEqual(dependencies.positions, positions);
    calls.length = 0;
    await restartEndedRetries(dependencies);
    await startOverdueRetries(dependencies);
    const pages = calls.filter(([name]) => name.startsWith('list')).map(([, , page]) => page);
    assert.deepEqual(pages, [
      { after: positions.deliveries, limit: 500 },
      { after: positions.retries, limit: 500 },
    ]);
  });

  it('continues backlogs, manual retries and disabled webhooks one by one', async () => {
    const webhooks = ['one', 'two'];
    const backlogs = recorded({ listForgottenBacklogs: webhooks });
    await restartBacklogs(backlogs.dependencies);
    assert.deepEqual(backlogs.calls, [
      ['listForgottenBacklogs', at(-15), 500],
      ...webhooks.flatMap((id) => [
        ['drainBacklog', id],
        ['onAction', 'backlog_drained'],
      ]),
    ]);
    const retries = recorded({ listWebhooksWithManualRetries: webhooks });
    await startForgottenManualRetries(retries.dependencies);
    assert.deepEqual(retries.calls, [
      ['listWebhooksWithManualRetries', at(-15), 500],
      ...webhooks.flatMap((id) => [
        ['makeManualRetries', id],
        ['onAction', 'manual_retries_started'],
      ]),
    ]);
    const waiting = recorded({ listWebhooksWithWaiting: webhooks });
    await holdOrCancelLeftovers(waiting.dependencies);
    assert.deepEqual(waiting.calls, [
      ['listWebhooksWithWaiting', 500],
      ...webhooks.map((id) => ['holdOrCancelWaiting', id]),
    ]);
  });

  describe('with notices', () => {
    const fresh = useInstallation();
    const rows = storedRows(fresh);

    it('starts one workflow for each occasion of the last day whose mail was not started', async () => {
      const [user] = await rows.execute<{ id: string }>('select id from users limit 1');
      let number = 0;
      const notice = async (seconds: number, kind: string, values: object = {}) => {
        const id = `00000000-0000-0000-0000-00000000000${(number += 1)}`;
        await rows.insert('notifications', {
          id,
          workspace_id: fresh.installation.workspace_id,
          user_id: user?.id,
          kind,
          subject: `${kind.split('.')[0]}:${number}`,
          created_at: at(seconds),
          ...values,
        });
      };
      await notice(-4, 'webhook.disabled');
      await notice(-5, 'task.escalated');
      await notice(-6, 'task.asked');
      await notice(-3, 'task.asked');
      await notice(-86_400, 'task.asked');
      await notice(-7, 'task.asked', { emailed_at: NOW });
      await notice(-7, 'task.asked', { mail_started_at: NOW });
      const { calls, dependencies } = recorded({});
      await startUnsentNotices({ ...dependencies, database: fresh.database });
      assert.deepEqual(calls, [
        ['notify', { executionId: '3', askedAt: at(-6).toISOString() }],
        ['notify', { executionId: '2', escalatedAt: at(-5).toISOString() }],
        ['notify', { webhookId: '1', disabledAt: at(-4).toISOString() }],
      ]);
      const started = await rows.execute<{ subject: string }>(
        'select subject from notifications where mail_started_at = ? order by subject',
        [NOW],
      );
      assert.deepEqual(
        started.map(({ subject }) => subject),
        ['task:2', 'task:3', 'task:7', 'webhook:1'],
      );
    });
  });
});
