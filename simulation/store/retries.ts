import { UNMADE_RETRY } from '../../src/domain/webhooks/delivery.ts';
import { pageOf, type RetryRow, type Steps, type Tables } from './tables.ts';

type RetrySteps = Pick<
  Steps,
  'startScheduledRetry' | 'endScheduledRetry' | 'recordUnmadeRetry' | 'markMadeRetries' | 'listOverdueRetries'
>;

/** How far the clocks of two machines may differ, in milliseconds. */
const SKEW_MS = 5_000;

/** Creates the steps of scheduled manual retries. */
export function createRetrySteps(tables: Tables): RetrySteps {
  const overdue = (before: Date) =>
    [...tables.retries.values()].filter(
      ({ at, ended_at: endedAt, cancelled_at: cancelledAt }) =>
        at < before && endedAt === null && cancelledAt === null,
    );

  return {
    startScheduledRetry(token) {
      const retry = tables.retries.get(token);
      if (!retry || retry.cancelled_at !== null) return false;
      if (tables.attempts.some((attempt) => attempt.token === token)) return false;
      retry.started_at ??= tables.now();
      return true;
    },

    endScheduledRetry(token) {
      const retry = tables.retries.get(token);
      if (retry?.cancelled_at === null) retry.ended_at ??= tables.now();
    },

    recordUnmadeRetry({ id }, { why, at }) {
      const row = tables.deliveries.get(id);
      if (!row) return;
      const earlier = row.reason?.replace(new RegExp(`(; |^)${UNMADE_RETRY} .*$`), '') ?? '';
      const sentence = `${UNMADE_RETRY} ${at.toISOString()}: ${why}`;
      row.reason = earlier === '' ? sentence : `${earlier}; ${sentence}`;
      row.updated_at = at;
    },

    markMadeRetries(before) {
      for (const retry of overdue(before).filter(isWaiting)) {
        const since = retry.at.getTime() - SKEW_MS;
        const isMade = tables.attempts.some(
          ({ delivery_id: id, trigger, attempted_at: at }) =>
            id === retry.delivery_id && trigger === 'manual' && Date.parse(at) > since,
        );
        if (isMade) Object.assign(retry, { started_at: tables.now(), ended_at: tables.now() });
      }
    },

    listOverdueRetries(before, page) {
      return pageOf(overdue(before), ({ at, token }) => ({ due: at, id: token }), page).map(
        ({ delivery_id: deliveryId, token, at, attempts }) => ({ deliveryId, token, at, attempts }),
      );
    },
  };
}

export function isWaiting({ started_at: startedAt, cancelled_at: cancelledAt }: RetryRow): boolean {
  return startedAt === null && cancelledAt === null;
}
