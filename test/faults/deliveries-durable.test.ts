import assert from 'node:assert/strict';
import { eventually } from '../support/runs.ts';
import type { Service } from '../support/service.ts';
import { assertBooksAgree, pairsOf } from './delivery-books.ts';
import { sayFigures, seconds } from './figures.ts';
import { eventOf } from './publishers.ts';
import {
  logOf,
  makeEndpoints,
  openWork,
  useDeliveringService,
  type Endpoint,
} from './webhooks-of-service.ts';

const KILLED_WITHIN_MS = 1;
const ARRIVES_WITHIN_MS = 60_000;

describe('an event that was answered 202', function () {
  this.timeout(120_000);
  const deliveringService = useDeliveringService();
  let service: Service;
  let endpoints: Endpoint[];
  beforeEach(async () => {
    service = await deliveringService();
    endpoints = await makeEndpoints(service, 1);
  });
  afterEach(() => Promise.all(endpoints.map(({ receiver }) => receiver.close())));

  it('arrives, though everything is killed within a millisecond', async () => {
    await arrivesAfterKill('durable-');
  });

  it('arrives, though everything is killed before any worker could see it', async () => {
    await service.deliveryWorker.kill();
    await arrivesAfterKill('unseen-', () => assert.deepEqual(endpoints[0]?.receiver.requests, []));
  });

  /** Publishes one event, kills all there is at its 202, brings all back and waits for the event. */
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
    assert.ok(tookMs <= KILLED_WITHIN_MS, `the kills took ${tookMs} ms`);
    check();

    await Promise.all([postgres.start(), temporal.start()]);
    await Promise.all([api, worker, deliveryWorker].map((part) => part.start()));
    const readyAt = Date.now();
    await eventually(
      'the event has arrived and is recorded',
      async () => {
        const { groups, pending } = await openWork(service, id);
        return groups === 0 && pending === 0 && pairsOf(endpoints).size === 1;
      },
      ARRIVES_WITHIN_MS,
    );
    const log = await logOf(service, endpoints);
    assert.equal(log.length, 1);
    assertBooksAgree(endpoints, log);
    const seen = endpoints[0]?.receiver.requests.length ?? 0;
    // A request that was sent and not recorded is sent again.
    assert.ok(seen <= 2, `it came ${seen} times`);
    sayFigures({
      'killed after the 202': `${tookMs.toFixed(2)} ms`,
      'arrived and recorded after the restart': seconds(Date.now() - readyAt),
      requests: seen,
    });
  }

  /** The status as soon as its line has been read. */
  async function post(id: string): Promise<number> {
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
