import assert from 'node:assert/strict';
import { withHeartbeats } from '../../src/api/http/heartbeats.ts';

const HEARTBEAT = ': still here\n\n';

describe('a stream with heartbeats', () => {
  it('has one whenever it is quiet, between its texts', async () => {
    const second = Promise.withResolvers<string>();
    async function* texts() {
      yield 'first';
      yield await second.promise;
    }
    const stream = withHeartbeats(texts(), 1);
    assert.equal((await stream.next()).value, 'first');
    assert.equal((await stream.next()).value, HEARTBEAT);
    assert.equal((await stream.next()).value, HEARTBEAT);
    second.resolve('second');
    assert.equal((await stream.next()).value, 'second');
    assert.equal((await stream.next()).done, true);
  });

  it('fails as its texts do', async () => {
    async function* texts(): AsyncGenerator<string> {
      yield 'text';
      throw new Error('the database is away');
    }
    const stream = withHeartbeats(texts(), 3_600_000);
    assert.equal((await stream.next()).value, 'text');
    await assert.rejects(stream.next(), /the database is away/);
  });

  it('ends its texts with it', async () => {
    let isOver = false;
    async function* texts() {
      try {
        for (;;) yield 'text';
      } finally {
        isOver = true;
      }
    }
    const stream = withHeartbeats(texts(), 3_600_000);
    await stream.next();
    await stream.return(undefined);
    assert.ok(isOver);
  });
});
