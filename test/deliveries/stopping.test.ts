import assert from 'node:assert/strict';
import type { AttemptOutcome } from '../../src/activities/deliveries/attempts.ts';
import { createFirstAttempts } from '../../src/activities/deliveries/first-attempts.ts';
import type { Post } from '../../src/activities/deliveries/post.ts';
import type { DeliveryStore } from '../../src/database/webhooks/delivery-store.ts';

describe('a delivery worker that is stopped', () => {
  it('waits for a first attempt that outlives its activity', async () => {
    const { promise: attempt, resolve } = Promise.withResolvers<AttemptOutcome>();
    const firstAttempts = createFirstAttempts({
      attempt: () => attempt,
      store: {} as DeliveryStore,
      control: { drainBacklog: () => assert.fail('it has got a place') },
    });
    const happened: string[] = [];
    for (const [id, sending] of await firstAttempts.start([{ id: 'a delivery' } as Post], () => new Date()))
      void sending.then(() => happened.push(`recorded ${id}`));
    const closed = firstAttempts.close().then(() => happened.push('closed'));
    await new Promise(setImmediate);
    assert.deepEqual(happened, []);
    resolve({ kind: 'recorded', result: null });
    await closed;
    assert.deepEqual(happened, ['recorded a delivery', 'closed']);
    await firstAttempts.close();
  });
});
