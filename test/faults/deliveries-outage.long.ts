import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import type { Receiver } from '../support/receiver.ts';
import { assertBooksAgree, duplicatesIn } from './delivery-log.ts';
import { sayFigures, seconds } from './metrics.ts';
import { publishTogether } from './publishers.ts';
import { logOf, untilRecorded, useEndpoints } from './service-webhooks.ts';

const EVENTS = 30;
const AT_ONCE = 10;
/** Longer than the first activity of a group waits for its attempts. */
const AWAY_MS = 4_000;

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
  this.timeout(240_000);
  const ground = useEndpoints(2);

  it('wait for it, also beside attempts that hang, and nothing is sent twice', async () => {
    const { service, endpoints } = ground();
    const [hanging, good] = endpoints.map(({ receiver }) => receiver);
    assert.ok(hanging && good);
    const answerHanging = thinking(hanging);
    const answerGood = thinking(good);
    const prefix = 'outage-';
    await publishTogether(service, prefix, EVENTS);
    await Promise.all([hanging.receives(AT_ONCE), good.receives(AT_ONCE)]);
    await service.postgres.kill();
    answerGood();
    await wait(AWAY_MS);
    await service.postgres.start();
    const backAt = Date.now();
    await good.receives(EVENTS);
    const goodAt = Date.now();

    answerHanging();
    await untilRecorded(service, prefix);
    sayFigures({ 'the good one has all, after the restart': seconds(goodAt - backAt) });
    assertBooksAgree(endpoints, await logOf(service, endpoints));
    assert.deepEqual(duplicatesIn(endpoints), { pairs: 2 * EVENTS, duplicates: 0 });
  });
});
