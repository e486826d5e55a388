import { setTimeout as wait } from 'node:timers/promises';
import type { DeliveryToSend } from '../../database/webhooks/dispatch.ts';
import { CONCURRENT_ATTEMPTS } from '../../domain/common/limits.ts';
import type { BacklogInput } from '../../temporal/delivery-messages.ts';
import { startHeartbeat } from '../heartbeat.ts';
import { engineClock } from './attempts.ts';
import { attemptSignals, createRequestedAttempts } from './requested-attempts.ts';
import type { RetryDependencies } from './retries.ts';

export type ManualRetryActivities = ReturnType<typeof createManualRetryActivities>;

/** `isMore`: retries were left. `isCrowded`: no place was free for any of them. */
type RetryRound = { isMore: boolean; isCrowded: boolean };

/** A retry that is to be made. `delivery` is as it was read with the retry. `position` is in the order of requests. */
type Waiting = { token: string; attempts: number; delivery: DeliveryToSend; position: number };

/** Retries read at once, with their payloads: as many as may be in progress. */
const BATCH = CONCURRENT_ATTEMPTS;
/** Time in which a call starts new attempts, in milliseconds. */
const ROUND_MS = 180_000;
/** How often a call looks for new retries, and for places for those that got none, in milliseconds. */
const POLL_MS = 1_000;

/** Creates the activity that makes the manual retries of a webhook. */
export function createManualRetryActivities({ store, attempt, engineTime }: RetryDependencies) {
  const attemptRequested = createRequestedAttempts({ store, attempt });

  return {
    /**
     * Makes the waiting manual retries of a webhook, in the order of their requests, at most {@link CONCURRENT_ATTEMPTS}
     * at once; also those that are requested in the meantime. So all of them take one activity slot and, like a backlog,
     * at most as many places. One that finds no place tries again a second later, or in the next call.
     */
    async makeManualRetries({ webhookId }: BacklogInput): Promise<RetryRound> {
      using _heartbeat = startHeartbeat();
      return await makeAll(webhookId);
    },
  };

  /** @throws what the first failed attempt threw, once none is in progress */
  async function makeAll(webhookId: string): Promise<RetryRound> {
    const now = await engineClock(engineTime);
    const begun = performance.now();
    const { signal } = attemptSignals();
    const queue = createQueue(webhookId);
    const inProgress = new Set<Promise<void>>();
    const errors: unknown[] = [];
    /** Those without a place reduce it for a second, so that the others do not wait in vain as well. */
    let width = CONCURRENT_ATTEMPTS;
    let settled = 0;
    let looked = begun;
    const isOver = () => errors.length > 0 || signal.aborted || performance.now() - begun >= ROUND_MS;
    const hasRoom = () => !isOver() && inProgress.size < width;
    const mayStartLater = () => !isOver() && inProgress.size < CONCURRENT_ATTEMPTS;

    function start(retry: Waiting): void {
      const { delivery, token, attempts } = retry;
      const request = { trigger: 'manual', token, attempts, isOld: true } as const;
      const making = attemptRequested(delivery, request, now)
        .then((isSettled) => {
          if (isSettled) queue.end(token);
          else queue.putBack(retry);
          settled += Number(isSettled);
          width -= Number(!isSettled);
        })
        .catch((error: unknown) => void errors.push(error))
        .finally(() => inProgress.delete(making));
      inProgress.add(making);
    }

    try {
      do {
        for (let next = await queue.next(hasRoom); next; next = await queue.next(hasRoom)) start(next);
        await queue.recordEnds();
        // Others may be requested, and places become free, while a slow receiver holds the last ones.
        const poll = mayStartLater() ? [wait(POLL_MS)] : [];
        if (inProgress.size > 0) await Promise.race([...inProgress, ...poll]);
        if (performance.now() - looked < POLL_MS) continue;
        looked = performance.now();
        width = CONCURRENT_ATTEMPTS;
        queue.lookAgain();
      } while (inProgress.size > 0 || queue.hasEnds());
    } finally {
      await Promise.all(inProgress);
    }
    if (errors.length > 0) throw errors[0];
    const isCrowded = queue.hasWaiting();
    return { isMore: isCrowded || isOver(), isCrowded: isCrowded && settled === 0 };
  }

  /** The waiting retries of a webhook, in the order of their requests, each once. */
  function createQueue(webhookId: string) {
    const waiting: Waiting[] = [];
    const ended: string[] = [];
    /** Positions of all retries that were read. */
    const known = new Set<number>();
    let after = 0;
    let afterBefore = 0;

    /** Returns whether there were more. */
    async function readMore(): Promise<boolean> {
      const found = await store.listManualRetries(webhookId, { after, limit: BATCH });
      after = found.at(-1)?.position ?? after;
      const retries = found.filter(({ position }) => !known.has(position));
      const ids = retries.map(({ deliveryId }) => deliveryId);
      const rows = ids.length === 0 ? [] : await store.readDeliveriesToSend(ids);
      const deliveries = new Map(rows.map((row) => [row.id, row]));
      for (const { deliveryId, token, attempts, position, isMade } of retries) {
        known.add(position);
        const delivery = deliveries.get(deliveryId);
        if (delivery && !isMade) waiting.push({ delivery, token, attempts, position });
        // A worker died after it had recorded the attempt, or the event was deleted.
        else ended.push(token);
      }
      return found.length > 0;
    }

    return {
      /** Returns the next retry while there is room for one; null if none waits. */
      async next(hasRoom: () => boolean): Promise<Waiting | null> {
        while (hasRoom() && waiting.length === 0 && (await readMore()));
        return hasRoom() ? (waiting.shift() ?? null) : null;
      },
      end: (token: string) => void ended.push(token),
      /** Takes a retry back that got no place. */
      putBack(retry: Waiting): void {
        waiting.push(retry);
        waiting.sort((one, other) => one.position - other.position);
      },
      hasWaiting: () => waiting.length > 0,
      /**
       * Makes the next read begin where the reads were at the last call of this function: a request gets its position before
       * it is committed, so that a later one may have been read first.
       */
      lookAgain(): void {
        [after, afterBefore] = [afterBefore, after];
      },
      hasEnds: () => ended.length > 0,
      async recordEnds(): Promise<void> {
        if (ended.length > 0) await store.endManualRetries(ended.splice(0));
      },
    };
  }
}
