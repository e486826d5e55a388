import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import { eventually } from '../support/eventually.ts';
import type { Part } from '../support/service.ts';
import { assertLogMatches, countDuplicates, missingPairs, pairsOf } from './delivery-log.ts';
import { printMetrics, seconds } from './metrics.ts';
import { publish } from './publishers.ts';
import { logOf, openWork, useEndpoints } from './service-webhooks.ts';

const EVENTS = 2_000;
const WEBHOOKS = 5;
/** The kill happens when this number of events is accepted, and this number of requests has arrived. */
const ACCEPTED_AT_KILL = 600;
const ARRIVED_AT_KILL = 500;
const DOWN_MS = 2_000;
const TIMEOUT_MS = 180_000;
const POLL_INTERVAL_MS = 250;
/** The limit for repeated requests, as a share of all requests. */
const MAX_DUPLICATES = 0.02;

describe('a kill -9 during 2,000 events to five webhooks', function () {
  this.timeout(400_000);
  const { service, endpoints } = useEndpoints(WEBHOOKS);

  it('of the delivery worker loses no event', () => killDuringEvents('worker', [service.deliveryWorker]));
  it('of the Temporal server loses no event', () => killDuringEvents('temporal', [service.temporal]));
  it('of PostgreSQL loses no event', () => killDuringEvents('postgres', [service.postgres]));
  it('of the API loses no event', () => killDuringEvents('api', [service.api]));
  it('of all processes at once loses no event', async () => {
    const { postgres, temporal, api, worker, deliveryWorker } = service;
    await killDuringEvents('all', [postgres, temporal, api, worker, deliveryWorker]);
  });

  /** Kills the parts during the events, restarts them in the given order, and checks that no event is lost. */
  async function killDuringEvents(name: string, parts: readonly Part[]): Promise<void> {
    const prefix = `kill-${name}-`;
    const arrived = () => endpoints.reduce((sum, { receiver }) => sum + receiver.requests.length, 0);
    const began = Date.now();
    const publishing = publish(service, prefix, EVENTS);
    await eventually(
      'enough events are accepted and delivered',
      () => publishing.acceptedCount() >= ACCEPTED_AT_KILL && arrived() >= ARRIVED_AT_KILL,
    );
    const atKill = { accepted: publishing.acceptedCount(), arrived: arrived(), at: Date.now() };
    await Promise.all(parts.map((part) => part.kill()));
    await wait(DOWN_MS);
    for (const part of parts) await part.start();
    const readyAt = Date.now();
    const published = await publishing.done;
    const publishedAt = Date.now();
    await untilSettled(prefix, () => missingPairs(endpoints, published).length);
    const settledAt = Date.now();

    assertLogMatches(endpoints, await logOf(service, endpoints));
    const { pairs, duplicates } = countDuplicates(endpoints);
    const arrivedIds = new Set([...pairsOf(endpoints).values()].map(({ eventId }) => eventId));
    printMetrics({
      'at the kill': `${atKill.accepted} events taken, ${atKill.arrived} requests arrived, after ${seconds(atKill.at - began)}`,
      'requests without 202': `${published.refused} refused, ${published.cut} cut off`,
      'events given up': `${published.givenUp.size}, of which ${[...published.givenUp].filter((id) => arrivedIds.has(id)).length} arrived`,
      'all published after the restart': seconds(publishedAt - readyAt),
      'all settled after the restart': seconds(settledAt - readyAt),
      duplicates: `${duplicates} of ${pairs} (${((100 * duplicates) / pairs).toFixed(2)} %)`,
    });
    assert.ok(duplicates < pairs * MAX_DUPLICATES, `${duplicates} of ${pairs} arrived twice`);
    assert.ok(published.accepted.size > EVENTS / 2, 'most events were accepted');
  }

  /** Waits until every accepted event is at every receiver, every group is done, and no delivery lacks its first attempt. */
  async function untilSettled(prefix: string, countMissing: () => number): Promise<void> {
    let last = '';
    const poll = async () => {
      await wait(POLL_INTERVAL_MS);
      const open = await openWork(service, prefix);
      last = JSON.stringify({ missing: countMissing(), ...open });
      return open.groups === 0 && open.pending === 0 && countMissing() === 0;
    };
    await eventually('everything has arrived', poll, TIMEOUT_MS).catch((error: Error) => {
      throw new Error(`${error.message}; ${last}`);
    });
  }
});
