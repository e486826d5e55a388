import assert from 'node:assert/strict';
import { createKeyCache } from '../../src/database/people/key-cache.ts';
import type { ActiveKey } from '../../src/database/people/keys.ts';

const START = Date.parse('2026-01-31T12:00:00.000Z');
const KEY: ActiveKey = {
  id: 'k1',
  workspace_id: 'w',
  project_id: 'p',
  name: 'CI',
  prefix: 'bt_abcdefgh',
  scopes: [],
  expires_at: null,
};

/** Counts what is read. `keyOf` is the active key with a hash; `onRead` happens during a read. */
function setUp(keyOf: (hash: string) => ActiveKey | null = () => KEY) {
  const reads: string[] = [];
  const state = { now: START, isConnected: true, onRead: () => {} };
  let notify = () => {};
  const subscribed: unknown[] = [];
  const cache = createKeyCache(
    async (hash) => {
      reads.push(hash);
      state.onRead();
      return keyOf(hash);
    },
    {
      subscribe(channel, id, onChange) {
        subscribed.push(channel, id);
        notify = () => onChange('k1', '');
        return () => {};
      },
      isConnected: () => state.isConnected,
    },
    () => new Date(state.now),
  );
  return { cache, reads, state, subscribed, notify: () => notify() };
}

describe('the cache of API keys', () => {
  it('reads a key once in ten seconds', async () => {
    const { cache, reads, state } = setUp();
    assert.equal(await cache.find('a'), KEY);
    state.now += 9_999;
    assert.equal(await cache.find('a'), KEY);
    assert.deepEqual(reads, ['a']);
    state.now += 1;
    assert.equal(await cache.find('a'), KEY);
    assert.deepEqual(reads, ['a', 'a']);
    await cache.find('b');
    assert.deepEqual(reads, ['a', 'a', 'b']);
  });

  it('never keeps a key beyond its expiration', async () => {
    const { cache, reads, state } = setUp(() => ({ ...KEY, expires_at: new Date(START + 500) }));
    await cache.find('a');
    state.now += 499;
    await cache.find('a');
    assert.equal(reads.length, 1);
    state.now += 1;
    await cache.find('a');
    assert.equal(reads.length, 2);
  });

  it('reads an unknown key each time, and forgets a key that is not active any more', async () => {
    let key: ActiveKey | null = null;
    const { cache, reads, state } = setUp(() => key);
    assert.deepEqual([await cache.find('a'), await cache.find('a')], [null, null]);
    key = KEY;
    await cache.find('a');
    key = null;
    state.now += 10_000;
    assert.equal(await cache.find('a'), null);
    state.now -= 10_000;
    assert.equal(await cache.find('a'), null);
    assert.equal(reads.length, 5);
  });

  it('keeps the other keys if somebody sends an unknown one', async () => {
    const { cache, reads } = setUp((hash) => (hash === 'a' ? KEY : null));
    await cache.find('a');
    await cache.find('unknown');
    await cache.find('a');
    assert.deepEqual(reads, ['a', 'unknown']);
  });

  it('reads all keys again after a change', async () => {
    const { cache, reads, subscribed, notify } = setUp();
    assert.deepEqual(subscribed, ['credentials', null]);
    await cache.find('a');
    notify();
    await cache.find('a');
    cache.invalidate();
    await cache.find('a');
    assert.equal(reads.length, 3);
    await cache.find('a');
    assert.equal(reads.length, 3);
  });

  it('does not keep a key that may have changed while it was read', async () => {
    const { cache, reads, state, notify } = setUp();
    state.onRead = notify;
    await cache.find('a');
    state.onRead = () => {};
    await cache.find('a');
    assert.equal(reads.length, 2);
    await cache.find('a');
    assert.equal(reads.length, 2);
  });

  it('reads every key while no notifications arrive', async () => {
    const { cache, reads, state } = setUp();
    await cache.find('a');
    state.isConnected = false;
    await cache.find('a');
    await cache.find('a');
    assert.equal(reads.length, 3);
    state.isConnected = true;
    await cache.find('a');
    assert.equal(reads.length, 3);
  });

  it('starts again when it has ten thousand keys', async () => {
    const { cache, reads } = setUp();
    for (let n = 0; n < 10_000; n += 1) await cache.find(`${n}`);
    await cache.find('0');
    assert.equal(reads.length, 10_000);
    await cache.find('one more');
    await cache.find('0');
    await cache.find('one more');
    assert.deepEqual(reads.slice(10_000), ['one more', '0', 'one more']);
    await cache.find('0');
    assert.equal(reads.length, 10_003);
  });
});
