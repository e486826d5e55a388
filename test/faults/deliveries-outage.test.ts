import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import type { Receiver } from '../support/receiver.ts';
import { eventually } from '../support/runs.ts';
import type { Service } from '../support/service.ts';
import { assertBooksAgree, duplicatesIn } from './delivery-books.ts';
import { sayFigures, seconds } from './figures.ts';
import { eventOf } from './publishers.ts';
import {
  logOf,
  makeEndpoints,
  openWork,
  useDeliveringService,
  type Endpoint,
} from './webhooks-of-service.ts';

const EVENTS = 30;
const AT_ONCE = 10;
/** Longer than the first activity of a group waits for its attempts. */
const AWAY_MS = 4_000;
const GOES_ON_WITHIN_MS = 20_000;

/** Has a receiver keep its answers back, all 204, until the function is called. */
function thinking(receiver: Receiver): () => void {
  const answers: (() => void)[] = [];
  receiver.answering((_request, response) => {
    answers.push(() => response.writeHead(204).end());
    return undefined;
  });
  return () => {
    receiver.answering(204);
    for (const answer of answers) answer();
  };
}

describe('deliveries while PostgreSQL is away', function () {
  this.timeout(90_000);
  const deliveringService = useDeliveringService();
  let service: Service;
  let endpoints: Endpoint[];
  beforeEach(async () => {
    service = await deliveringService();
    endpoints = await makeEndpoints(service, 2);
  });
  afterEach(() => Promise.all(endpoints.map(({ receiver }) => receiver.close())));

  it('wait for it, also beside attempts that hang, and nothing is sent twice', async () => {
    const [hanging, good] = endpoints.map(({ receiver }) => receiver);
    assert.ok(hanging && good);
    const answerHanging = thinking(hanging);
    const answerGood = thinking(good);
    const prefix = 'outage-';
    const events = Array.from({ length: EVENTS }, (_, index) => eventOf(`${prefix}${index}`));
    const { status } = await service.send('POST', '/api/v1/events', { body: { events } });
    assert.equal(status, 202);
    await Promise.all([hanging.receives(AT_ONCE, 20_000), good.receives(AT_ONCE, 20_000)]);
    await service.postgres.kill();
    answerGood();
    await wait(AWAY_MS);
    await service.postgres.start();
    const backAt = Date.now();
    await good.receives(EVENTS, GOES_ON_WITHIN_MS);
    const goodAt = Date.now();

    answerHanging();
    await eventually(
      'everything is recorded',
      async () => {
        const { groups, pending } = await openWork(service, prefix);
        return groups === 0 && pending === 0;
      },
      GOES_ON_WITHIN_MS,
    );
    sayFigures({ 'the good one has all, after the restart': seconds(goodAt - backAt) });
    assertBooksAgree(endpoints, await logOf(service, endpoints));
    assert.deepEqual(duplicatesIn(endpoints), { pairs: 2 * EVENTS, duplicates: 0 });
  });
});
