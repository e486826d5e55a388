import { setTimeout as wait } from 'node:timers/promises';
import type { Part } from '../test/support/parts.ts';
import type { WebhookBook } from './books.ts';
import type { Caller } from './caller.ts';
import { startAgain } from './disturb.ts';
import type { PartName } from './plan-disturbances.ts';

const LOOKS_EVERY_MS = 500;

/** Looks after processes that end though nobody asked for it, as a supervisor does. */
export function watchOver(parts: Readonly<Record<PartName, Part>>, say: (sentence: string) => void) {
  const excused = new Map<PartName, number>();
  const unbidden: string[] = [];
  let isOver = false;

  async function look(): Promise<void> {
    while (!isOver) {
      await wait(LOOKS_EVERY_MS);
      for (const [name, part] of Object.entries(parts) as [PartName, Part][]) {
        if (isOver || part.isRunning() || (excused.get(name) ?? 0) > 0) continue;
        const sentence = `${name} ended by itself`;
        unbidden.push(sentence);
        say(`${sentence}; it is started again`);
        await startAgain(part);
      }
    }
  }
  const looking = look();
  return {
    unbidden,
    async expecting(name: PartName, work: () => Promise<void>): Promise<void> {
      excused.set(name, (excused.get(name) ?? 0) + 1);
      try {
        await work();
      } finally {
        excused.set(name, (excused.get(name) ?? 1) - 1);
      }
    },
    async stop(): Promise<void> {
      isOver = true;
      await looking;
    },
  };
}

/**
 * Where a webhook's deliveries are sent, once it is disabled: switches it on, tries by hand with one of the failed ones,
 * and has what was held sent.
 */
export async function enableAndRecover(
  caller: Caller,
  webhookId: string,
  since: Date,
  isOver: () => boolean,
): Promise<void> {
  const path = `/api/v1/webhooks/${webhookId}`;
  const { json } = (await caller.insist('GET', path, { until: [200] }, isOver)) ?? {};
  if (json?.status !== 'disabled') return;
  await caller.insist('PATCH', path, { body: { active: true }, until: [200] }, isOver);
  const list = `${path}/deliveries?status=held&limit=1`;
  const [one] = (await caller.insist('GET', list, { until: [200] }, isOver))?.json?.data ?? [];
  if (one)
    await caller.insist(
      'POST',
      `/api/v1/deliveries/${one.id}/retry`,
      { body: {}, until: [202, 409] },
      isOver,
    );
  const wish = { since: since.toISOString(), statuses: ['held', 'failed'] };
  // 409: it was disabled again meanwhile, by retries that were under way.
  await caller.insist('POST', `${path}/recover`, { body: wish, until: [202, 409] }, isOver);
}

/**
 * Has everything sent that still waits for its retry, as an operator does who does not want to wait for the schedule:
 * enables what is disabled, recovers what is held or failed, and retries now what waits.
 */
export async function sendTheRest(
  caller: Caller,
  webhooks: readonly WebhookBook[],
  since: Date,
  isOver: () => boolean,
): Promise<{ retriedNow: number }> {
  let retriedNow = 0;
  for (const { id } of webhooks) {
    await enableAndRecover(caller, id, since, isOver);
    const wish = { since: since.toISOString(), statuses: ['held', 'failed'] };
    await caller.insist('POST', `/api/v1/webhooks/${id}/recover`, { body: wish, until: [202, 409] }, isOver);
    for (let cursor = ''; ; ) {
      const list = `/api/v1/webhooks/${id}/deliveries?status=retrying&limit=200${cursor}`;
      const page = (await caller.insist('GET', list, { until: [200] }, isOver))?.json;
      for (const delivery of page?.data ?? []) {
        const path = `/api/v1/deliveries/${delivery.id}/retry`;
        const answer = await caller.insist('POST', path, { body: {}, until: [202, 409] }, isOver);
        if (answer?.status === 202) retriedNow += 1;
      }
      if (!page?.next_cursor) break;
      cursor = `&cursor=${page.next_cursor}`;
    }
  }
  return { retriedNow };
}
