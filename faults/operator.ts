import { setTimeout as wait } from 'node:timers/promises';
import type { Part } from '../test/support/parts.ts';
import type { WebhookRecord } from './records.ts';
import type { Caller } from './caller.ts';
import { restartPart } from './inject-faults.ts';
import type { PartName } from './plan-faults.ts';

const CHECK_INTERVAL_MS = 500;

/** Restarts and records processes that exit unexpectedly. */
export function superviseProcesses(parts: Readonly<Record<PartName, Part>>, log: (sentence: string) => void) {
  const expectedExits = new Map<PartName, number>();
  const unexpectedExits: string[] = [];
  let isOver = false;

  async function supervise(): Promise<void> {
    while (!isOver) {
      await wait(CHECK_INTERVAL_MS);
      for (const [name, part] of Object.entries(parts) as [PartName, Part][]) {
        if (isOver || part.isRunning() || (expectedExits.get(name) ?? 0) > 0) continue;
        const sentence = `${name} exited unexpectedly`;
        unexpectedExits.push(sentence);
        log(`${sentence}; starting it again`);
        await restartPart(part);
      }
    }
  }
  const supervising = supervise();
  return {
    unexpectedExits,
    async expectExit(name: PartName, work: () => Promise<void>): Promise<void> {
      expectedExits.set(name, (expectedExits.get(name) ?? 0) + 1);
      try {
        await work();
      } finally {
        expectedExits.set(name, (expectedExits.get(name) ?? 1) - 1);
      }
    },
    async stop(): Promise<void> {
      isOver = true;
      await supervising;
    },
  };
}

/**
 * Enables a webhook if it is disabled, retries one of its held deliveries manually, and recovers the held and failed
 * ones.
 */
export async function enableAndRecover(
  caller: Caller,
  webhookId: string,
  since: Date,
  isOver: () => boolean,
): Promise<void> {
  const path = `/api/v1/webhooks/${webhookId}`;
  const { json } = (await caller.requestUntil('GET', path, { until: [200] }, isOver)) ?? {};
  if (json?.status !== 'disabled') return;
  await caller.requestUntil('PATCH', path, { body: { active: true }, until: [200] }, isOver);
  const list = `${path}/deliveries?status=held&limit=1`;
  const [one] = (await caller.requestUntil('GET', list, { until: [200] }, isOver))?.json?.data ?? [];
  if (one)
    await caller.requestUntil(
      'POST',
      `/api/v1/deliveries/${one.id}/retry`,
      { body: {}, until: [202, 409] },
      isOver,
    );
  const recovery = { since: since.toISOString(), statuses: ['held', 'failed'] };
  // 409: retries in progress have disabled it again.
  await caller.requestUntil('POST', `${path}/recover`, { body: recovery, until: [202, 409] }, isOver);
}

/**
 * Sends all pending deliveries without waiting for the schedule, as an operator can: enables disabled webhooks,
 * recovers held and failed deliveries, and retries waiting ones now.
 */
export async function sendPending(
  caller: Caller,
  webhooks: readonly WebhookRecord[],
  since: Date,
  isOver: () => boolean,
): Promise<{ retriedNow: number }> {
  let retriedNow = 0;
  for (const { id } of webhooks) {
    await enableAndRecover(caller, id, since, isOver);
    const recovery = { since: since.toISOString(), statuses: ['held', 'failed'] };
    await caller.requestUntil(
      'POST',
      `/api/v1/webhooks/${id}/recover`,
      { body: recovery, until: [202, 409] },
      isOver,
    );
    for (let cursor = ''; ; ) {
      const list = `/api/v1/webhooks/${id}/deliveries?status=retrying&limit=200${cursor}`;
      const page = (await caller.requestUntil('GET', list, { until: [200] }, isOver))?.json;
      for (const delivery of page?.data ?? []) {
        const path = `/api/v1/deliveries/${delivery.id}/retry`;
        const response = await caller.requestUntil('POST', path, { body: {}, until: [202, 409] }, isOver);
        if (response?.status === 202) retriedNow += 1;
      }
      if (!page?.next_cursor) break;
      cursor = `&cursor=${page.next_cursor}`;
    }
  }
  return { retriedNow };
}
