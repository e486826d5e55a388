import { compare, type ManualRetryRow, type Steps, type Tables } from './tables.ts';

type ManualRetrySteps = Pick<
  Steps,
  'listManualRetries' | 'endManualRetries' | 'listWebhooksWithManualRetries'
>;

/** Creates the steps of manual retries that are due now. */
export function createManualRetrySteps(tables: Tables): ManualRetrySteps {
  const waitingWhere = (matches: (row: ManualRetryRow) => boolean) =>
    [...tables.manualRetries.values()]
      .filter((row) => row.ended_at === null && matches(row))
      .toSorted((one, other) => compare(one.seq, other.seq));

  return {
    listManualRetries(webhookId, { after, limit }) {
      return waitingWhere(({ webhook_id: id, seq }) => id === webhookId && seq > after)
        .slice(0, limit)
        .map(({ delivery_id: deliveryId, token, attempts, seq: position }) => {
          const isMade = tables.attempts.some((one) => one.delivery_id === deliveryId && one.token === token);
          return { deliveryId, token, attempts, position, isMade };
        });
    },

    endManualRetries(tokens) {
      for (const token of tokens) {
        const row = tables.manualRetries.get(token);
        if (row) row.ended_at ??= tables.now();
      }
    },

    listWebhooksWithManualRetries(before, limit) {
      const ids = waitingWhere(({ requested_at: at }) => at < before).map(({ webhook_id: id }) => id);
      return [...new Set(ids)].toSorted(compare).slice(0, limit);
    },
  };
}
