import assert from 'node:assert/strict';
import { pino } from 'pino';
import { createLedger } from '../../simulation/store/ledger.ts';
import { NEW } from '../../simulation/store/results.ts';
import { createTables } from '../../simulation/store/tables.ts';
import type { DeliveryStore } from '../../src/database/webhooks/delivery-store.ts';
import { restartEndedRetries, startOverdueRetries } from '../../src/reconciler/forgotten-deliveries.ts';
import type { DeliveryControl } from '../../src/temporal/delivery-control.ts';

const HOUR_MS = 3_600_000;
/** More than a turn reads. The last one is the only one whose workflow has ended. */
const OVERDUE = 501;

describe('overdue retries whose workflow has ended', () => {
  const now = new Date('2026-01-31T12:00:00.000Z');
  const tables = createTables(
    () => now,
    () => 'a group',
  );
  /** All are due at the same time, except the last one. */
  const dueAt = (index: number) => new Date(now.getTime() - HOUR_MS + (index === OVERDUE - 1 ? 1 : 0));
  const idOf = (index: number) => `delivery-${String(index).padStart(3, '0')}`;
  const last = idOf(OVERDUE - 1);
  for (let index = 0; index < OVERDUE; index += 1) {
    const id = idOf(index);
    tables.deliveries.set(id, {
      id,
      workspace_id: 'a workspace',
      webhook_id: 'a webhook',
      event_seq: index,
      event_id: `evt_${index}`,
      event: 'issue.created',
      ...NEW,
      status: 'retrying',
      retry_started: true,
      next_attempt_at: dueAt(index),
      created_at: now,
      updated_at: now,
    });
    tables.retries.set(id, {
      token: id,
      delivery_id: id,
      at: dueAt(index),
      attempts: 1,
      started_at: null,
      ended_at: null,
      cancelled_at: null,
    });
  }

  /** Returns dependencies that record which workflows start. All others are open. */
  function open() {
    const started: string[] = [];
    const start = async (id: string) => {
      if (id !== last) return 'known';
      started.push(id);
      return 'started';
    };
    const deliveryControl = {
      startOverdueRetries: ({ deliveryId }) => start(deliveryId),
      attemptOverdue: ({ token }) => start(token),
    } as Pick<DeliveryControl, 'startOverdueRetries' | 'attemptOverdue'> as DeliveryControl;
    return {
      started,
      dependencies: {
        store: createLedger(tables) as unknown as DeliveryStore,
        deliveryControl,
        clock: () => now,
        log: pino({ level: 'silent' }),
        positions: { deliveries: null, retries: null },
      },
    };
  }

  for (const part of [restartEndedRetries, startOverdueRetries]) {
    it(`are found behind many with an open workflow by ${part.name}, turn after turn`, async () => {
      const { started, dependencies } = open();
      const counts: number[] = [];
      for (let turn = 0; turn < 4; turn += 1) {
        await part(dependencies);
        counts.push(started.length);
      }
      assert.deepEqual(counts, [0, 1, 1, 2], 'every other turn reads the last one');
    });
  }
});
