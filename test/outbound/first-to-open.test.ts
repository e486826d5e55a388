import assert from 'node:assert/strict';
import { firstToOpen } from '../../src/outbound/first-to-open.ts';

type Pending = PromiseWithResolvers<string> & { signal: AbortSignal };

/** Addresses whose connections open or fail when the test says so. */
function addresses() {
  const pending = new Map<string, Pending>();
  const begun = new Map<string, PromiseWithResolvers<Pending>>();
  const whenBegun = (address: string) => {
    const promise = begun.get(address) ?? Promise.withResolvers<Pending>();
    begun.set(address, promise);
    return promise;
  };
  return {
    open(address: string, signal: AbortSignal): Promise<string> {
      const connection = { ...Promise.withResolvers<string>(), signal };
      pending.set(address, connection);
      whenBegun(address).resolve(connection);
      return connection.promise;
    },
    begins: (address: string) => whenBegun(address).promise,
  };
}

describe('the first address that accepts a connection', () => {
  const { signal } = new AbortController();

  it('may be slow, if another one that was tried after it has failed', async () => {
    const { open, begins } = addresses();
    const first = firstToOpen(['slow', 'closed'], open, () => {}, signal);
    const [slow, closed] = [await begins('slow'), await begins('closed')];
    closed.reject(new Error('refused'));
    await closed.promise.catch(() => {});
    slow.resolve('slow is open');
    assert.equal(await first, 'slow is open');
  });

  it('is tried as soon as the one before has failed', async () => {
    const { open, begins } = addresses();
    const first = firstToOpen(['closed', 'good'], open, () => {}, signal);
    (await begins('closed')).reject(new Error('refused'));
    (await begins('good')).resolve('good is open');
    assert.equal(await first, 'good is open');
  });

  it('wins, and the others are aborted, and discarded if they open nevertheless', async () => {
    const { open, begins } = addresses();
    const discarded: string[] = [];
    const first = firstToOpen(['slow', 'good'], open, (late) => void discarded.push(late), signal);
    const [slow, good] = [await begins('slow'), await begins('good')];
    good.resolve('good is open');
    assert.equal(await first, 'good is open');
    assert.ok(slow.signal.aborted);
    slow.resolve('slow is open');
    await slow.promise;
    assert.deepEqual(discarded, ['slow is open']);
  });

  it('does not exist if all fail: the first failure is reported', async () => {
    const { open, begins } = addresses();
    const first = firstToOpen(['one', 'other'], open, () => {}, signal);
    (await begins('one')).reject(new Error('one refused'));
    (await begins('other')).reject(new Error('other refused'));
    await assert.rejects(first, /one refused/);
  });
});
