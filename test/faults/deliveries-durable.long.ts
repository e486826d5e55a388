import assert from 'node:assert/strict';
import type { ReceivedRequest } from '../support/receiver.ts';
import { assertLogMatches, pairsOf } from './delivery-log.ts';
import { printMetrics, seconds } from './metrics.ts';
import { eventOf } from './publishers.ts';
import { logOf, untilRecorded, useEndpoints } from './service-webhooks.ts';

describe('an event with the response 202', function () {
  this.timeout(300_000);
  const { service, endpoints } = useEndpoints(1);

  it('is delivered although every process is killed right after the response', () =>
    arrivesAfterKill('durable'));

  it('is delivered although every process is killed before a worker has read it', async () => {
    await service.deliveryWorker.kill();
    await arrivesAfterKill('unseen', () => assert.deepEqual(endpoints[0]?.receiver.requests, []));
  });

  /**
   * Publishes one event, kills every process at its 202, starts all again and waits for the event. Nothing is awaited
   * between the status and the last kill.
   */
  async function arrivesAfterKill(id: string, check: () => void = () => {}): Promise<void> {
    const { api, worker, deliveryWorker, temporal, postgres } = service;
    const all = [api, worker, deliveryWorker, temporal, postgres].filter((part) => part.isRunning());
    const pids = all.map((part) => part.pid());
    const answered = await post(id);
    const answeredAt = performance.now();
    for (const pid of pids) process.kill(pid, 'SIGKILL');
    const tookMs = performance.now() - answeredAt;
    await Promise.all(all.map((part) => part.kill()));
    assert.equal(answered, 202);
    check();

    await Promise.all([postgres.start(), temporal.start()]);
    await Promise.all([api, worker, deliveryWorker].map((part) => part.start()));
    const readyAt = Date.now();
    await untilRecorded(service, id, () => requestsOf(id).length > 0);
    const log = await logOf(service, endpoints);
    assert.equal(log.filter(({ event_id: eventId }) => eventId === id).length, 1);
    assertLogMatches(endpoints, log);
    const seen = requestsOf(id).length;
    // A request that was sent and not recorded is sent again.
    assert.ok(seen <= 2, `it arrived ${seen} times`);
    printMetrics({
      'killed after the 202': `${tookMs.toFixed(2)} ms`,
      'arrived and recorded after the restart': seconds(Date.now() - readyAt),
      requests: seen,
    });
  }

  function requestsOf(id: string): readonly ReceivedRequest[] {
    return [...pairsOf(endpoints).values()].find(({ eventId }) => eventId === id)?.requests ?? [];
  }

  /** Publishes the event. Returns the status as soon as it has been read. */
  async function post(id: string): Promise<number> {
    const response = await fetch(`${service.url}/api/v1/events`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'X-API-Key': service.installation.api_key },
      body: JSON.stringify(eventOf(id)),
    });
    // The API is killed next, and the body may never end.
    void response.body?.cancel().catch(() => {});
    return response.status;
  }
});
