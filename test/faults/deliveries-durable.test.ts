import assert from 'node:assert/strict';
import type { ReceivedRequest } from '../support/receiver.ts';
import { assertBooksAgree, pairsOf } from './delivery-books.ts';
import { sayFigures, seconds } from './figures.ts';
import { eventOf } from './publishers.ts';
import { logOf, untilRecorded, useEndpoints } from './webhooks-of-service.ts';

/** What was wanted; a machine that is busy elsewhere may need another round to come to it. */
const KILLED_WITHIN_MS = 1;
const MOST_ROUNDS = 2;
const ARRIVES_WITHIN_MS = 60_000;

describe('an event that was answered 202', function () {
  this.timeout(120_000);
  const ground = useEndpoints(1);

  it('arrives, though everything is killed within a millisecond', async () => {
    for (let round = 1; round <= MOST_ROUNDS; round += 1) {
      if ((await arrivesAfterKill(`durable-${round}`)) <= KILLED_WITHIN_MS) return;
    }
  });

  it('arrives, though everything is killed before any worker could see it', async () => {
    const { service, endpoints } = ground();
    await service.deliveryWorker.kill();
    await arrivesAfterKill('unseen', () => assert.deepEqual(endpoints[0]?.receiver.requests, []));
  });

  /**
   * Publishes one event, kills all there is at its 202, brings all back and waits for the event. Answers how many
   * milliseconds lay between the 202 and the last kill.
   */
  async function arrivesAfterKill(id: string, check: () => void = () => {}): Promise<number> {
    const { service, endpoints } = ground();
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
    await untilRecorded(service, id, ARRIVES_WITHIN_MS, () => requestsOf(id).length > 0);
    const log = await logOf(service, endpoints);
    assert.equal(log.filter(({ event_id: eventId }) => eventId === id).length, 1);
    assertBooksAgree(endpoints, log);
    const seen = requestsOf(id).length;
    // A request that was sent and not recorded is sent again.
    assert.ok(seen <= 2, `it came ${seen} times`);
    sayFigures({
      'killed after the 202': `${tookMs.toFixed(2)} ms`,
      'arrived and recorded after the restart': seconds(Date.now() - readyAt),
      requests: seen,
    });
    return tookMs;
  }

  function requestsOf(id: string): readonly ReceivedRequest[] {
    return [...pairsOf(ground().endpoints).values()].find(({ eventId }) => eventId === id)?.requests ?? [];
  }

  /** The status as soon as its line has been read. */
  async function post(id: string): Promise<number> {
    const { service } = ground();
    const response = await fetch(`${service.url}/api/v1/events`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'X-API-Key': service.installation.api_key },
      body: JSON.stringify(eventOf(id)),
    });
    // Whoever answers is killed next, and the body may never end.
    void response.body?.cancel().catch(() => {});
    return response.status;
  }
});
