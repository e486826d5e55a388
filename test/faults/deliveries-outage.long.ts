import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import type { Receiver } from '../support/receiver.ts';
import { assertLogMatches, countDuplicates } from './delivery-log.ts';
import { printMetrics, seconds } from './metrics.ts';
import { publishTogether } from './publishers.ts';
import { logOf, untilRecorded, useEndpoints } from './service-webhooks.ts';

const EVENTS = 30;
const AT_ONCE = 10;
/** Longer than the first activity of a group waits for its attempts. */
const DOWN_MS = 4_000;

/** Makes a receiver hold its 204 responses until the returned function is called. */
function delayResponses(receiver: Receiver): () => void {
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

describe('deliveries during an outage of PostgreSQL', function () {
  this.timeout(240_000);
  const { service, endpoints } = useEndpoints(2);

  it('wait for its end while attempts hang, and none is sent twice', async () => {
    const [hanging, good] = endpoints.map(({ receiver }) => receiver);
    assert.ok(hanging && good);
    const answerHanging = delayResponses(hanging);
    const answerGood = delayResponses(good);
    const prefix = 'outage-';
    await publishTogether(service, prefix, EVENTS);
    await Promise.all([hanging.receives(AT_ONCE), good.receives(AT_ONCE)]);
    await service.postgres.kill();
    answerGood();
    await wait(DOWN_MS);
    await service.postgres.start();
    const backAt = Date.now();
    await good.receives(EVENTS);
    const goodAt = Date.now();

    answerHanging();
    await untilRecorded(service, prefix);
    printMetrics({ 'the good receiver has all, after the restart': seconds(goodAt - backAt) });
    assertLogMatches(endpoints, await logOf(service, endpoints));
    assert.deepEqual(countDuplicates(endpoints), { pairs: 2 * EVENTS, duplicates: 0 });
  });
});
