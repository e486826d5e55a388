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

/** A retry that is to be made. `delivery` is as it was read with the retry. */
type Waiting = { token: string; attempts: number; delivery: DeliveryToSend };

/** Retries read at once, and time in which a call starts new attempts, in milliseconds. */
const BATCH = 100;
const ROUND_MS = 180_000;
/** How often a call that only waits for attempts in progress looks for new retries, in milliseconds. */
const POLL_MS = 1_000;

/** Creates the activity that makes the manual retries of a webhook. */
export function createManualRetryActivities({ store, attempt, engineTime }: RetryDependencies) {
  const attemptRequested = createRequestedAttempts({ store, attempt });

  return {
    /**
     * Makes the waiting manual retries of a webhook, in the order of their requests, at most {@link CONCURRENT_ATTEMPTS}
     * at once; also those that are requested in the meantime. So all of them take one activity slot and, like a backlog,
     * at most as many places. One that finds no place is left to the next call.
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
    let width = CONCURRENT_ATTEMPTS;
    let settled = 0;
    const isOver = () => errors.length > 0 || signal.aborted || performance.now() - begun >= ROUND_MS;
    const hasRoom = () => !isOver() && inProgress.size < width;

    function start({ delivery, token, attempts }: Waiting): void {
      const request = { trigger: 'manual', token, attempts, isOld: true } as const;
      const making = attemptRequested(delivery, request, now)
        .then((isSettled) => {
          if (isSettled) queue.end(token);
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
        // Others may be requested while a slow receiver holds the last ones.
        const poll = hasRoom() ? [wait(POLL_MS)] : [];
        if (inProgress.size > 0) await Promise.race([...inProgress, ...poll]);
      } while (inProgress.size > 0 || queue.hasEnds());
    } finally {
      await Promise.all(inProgress);
    }
    if (errors.length > 0) throw errors[0];
    const isCrowded = width < CONCURRENT_ATTEMPTS;
    return { isMore: isCrowded || isOver(), isCrowded: isCrowded && settled === 0 };
  }

  /** The waiting retries of a webhook, in the order of their requests, each once. */
  function createQueue(webhookId: string) {
    const waiting: Waiting[] = [];
    const ended: string[] = [];
    let after = 0;

    /** Returns whether there were more. */
    async function readMore(): Promise<boolean> {
      const retries = await store.listManualRetries(webhookId, { after, limit: BATCH });
      after = retries.at(-1)?.position ?? after;
      const ids = retries.map(({ deliveryId }) => deliveryId);
      const rows = ids.length === 0 ? [] : await store.readDeliveriesToSend(ids);
      const deliveries = new Map(rows.map((row) => [row.id, row]));
      for (const { deliveryId, token, attempts, isMade } of retries) {
        const delivery = deliveries.get(deliveryId);
        if (delivery && !isMade) waiting.push({ delivery, token, attempts });
        // A worker died after it had recorded the attempt, or the event was deleted.
        else ended.push(token);
      }
      return retries.length > 0;
    }

    return {
      /** Returns the next retry while there is room for one; null if none waits. */
      async next(hasRoom: () => boolean): Promise<Waiting | null> {
        while (hasRoom() && waiting.length === 0 && (await readMore()));
        return hasRoom() ? (waiting.shift() ?? null) : null;
      },
      end: (token: string) => void ended.push(token),
      hasEnds: () => ended.length > 0,
      async recordEnds(): Promise<void> {
        if (ended.length > 0) await store.endManualRetries(ended.splice(0));
      },
    };
  }
}
