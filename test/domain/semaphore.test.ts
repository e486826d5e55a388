import assert from 'node:assert/strict';
import { createSemaphore } from '../../src/domain/common/semaphore.ts';

describe('a semaphore', () => {
  it('runs as many pieces of work at once as it has places, in order, also after a failure', async () => {
    const semaphore = createSemaphore(2);
    const started: number[] = [];
    const pieces = [0, 1, 2, 3].map((index) => {
      const end = Promise.withResolvers<number>();
      const result = semaphore.run(() => {
        started.push(index);
        return end.promise;
      });
      return { end, result };
    });
    const settle = () => new Promise(setImmediate);
    await settle();
    assert.deepEqual(started, [0, 1]);
    pieces[1]?.end.reject(new Error('failed'));
    await assert.rejects(pieces[1]?.result ?? Promise.resolve(), /failed/);
    await settle();
    assert.deepEqual(started, [0, 1, 2]);
    for (const { end } of pieces) end.resolve(7);
    assert.equal(await pieces[3]?.result, 7);
    assert.equal(await semaphore.run(async () => 8), 8);
  });
});
