import assert from 'node:assert/strict';
import { pino } from 'pino';
import { createStarter } from '../../src/api/starter.ts';
import { EngineUnavailable } from '../../src/temporal/task-control.ts';

/** A starter of numbers, whose starts end when the test says so. */
function numbers(options: { concurrency?: number; batch?: number; restMs?: number } = {}) {
  const started: number[][] = [];
  const open: PromiseWithResolvers<void>[] = [];
  const starter = createStarter<number>({
    start: async (items) => {
      started.push([...items]);
      const end = Promise.withResolvers<void>();
      open.push(end);
      await end.promise;
    },
    concurrency: options.concurrency ?? 1,
    batch: () => options.batch ?? 10,
    restMs: () => options.restMs ?? 0,
    what: 'numbers',
    log: pino({ level: 'silent' }),
  });
  /** Ends the oldest start in progress, and lets what follows from it happen. */
  const end = async (error?: Error): Promise<void> => {
    const oldest = open.shift();
    if (error) oldest?.reject(error);
    else oldest?.resolve();
    await new Promise(setImmediate);
  };
  return { starter, started, end };
}

describe('a starter of stored work', () => {
  const outage = new Error('Temporal is unavailable');

  it('starts an item at once when idle, and then all items that arrived during that start together', async () => {
    const { starter, started, end } = numbers();
    for (const number of [1, 2, 3]) starter.add(number);
    assert.deepEqual(started, [[1]]);
    await end();
    assert.deepEqual(started, [[1], [2, 3]]);
    await end();
    await starter.close();
  });

  it('has at most so many starts in progress, each of a limited size', async () => {
    const { starter, started, end } = numbers({ concurrency: 2, batch: 2 });
    for (const number of [1, 2, 3, 4, 5]) starter.add(number);
    assert.deepEqual(started, [[1], [2]]);
    await end();
    assert.deepEqual(started, [[1], [2], [3, 4]]);
    await end();
    assert.deepEqual(started.at(-1), [5]);
    await end();
    await end();
    await starter.close();
  });

  it('rests after a start, and then takes all that came', async () => {
    const { starter, started, end } = numbers({ restMs: 30 });
    starter.add(1);
    await end();
    starter.add(2);
    starter.add(3);
    assert.deepEqual(started, [[1]]);
    while (started.length < 2) await new Promise((resolve) => setTimeout(resolve, 5));
    assert.deepEqual(started, [[1], [2, 3]]);
    await end();
    await starter.close();
  });

  it('leaves what waits to the reconciler when a start fails, and tries one at a time until one succeeds', async () => {
    const { starter, started, end } = numbers({ concurrency: 3, batch: 1 });
    for (const number of [1, 2, 3, 4]) starter.add(number);
    await end(outage);
    assert.ok(starter.isBehind());
    await end(outage);
    await end(outage);
    assert.deepEqual(started, [[1], [2], [3]], '4 is forgotten here');
    for (const number of [5, 6]) starter.add(number);
    assert.deepEqual(started.at(-1), [5]);
    assert.equal(started.length, 4);
    await end();
    assert.ok(!starter.isBehind());
    assert.deepEqual(started.at(-1), [6]);
    await end();
    await starter.close();
  });

  it('goes on with the others when Temporal refuses some', async () => {
    const { starter, started, end } = numbers({ batch: 1 });
    for (const number of [1, 2]) starter.add(number);
    await end(new EngineUnavailable('refused'));
    assert.ok(!starter.isBehind());
    assert.deepEqual(started, [[1], [2]]);
    await end();
    await starter.close();
  });

  it('closes when everything is started, without waiting for a Temporal that is away', async () => {
    const { starter, started, end } = numbers();
    starter.add(1);
    starter.add(2);
    const closed = starter.close();
    await end();
    await end();
    await closed;
    assert.deepEqual(started, [[1], [2]]);
    starter.add(3);
    await end(outage);
    starter.add(4);
    await starter.close();
  });
});
