import assert from 'node:assert/strict';
import { mock } from 'node:test';
import { createNewDeliveries } from '../../src/activities/deliveries/new-deliveries.ts';
import type { PlannedDelivery } from '../../src/database/webhooks/dispatch.ts';
import { eventually } from '../support/eventually.ts';

const NOW = new Date('2026-01-31T12:00:00.000Z');

describe('the rows of new deliveries', () => {
  afterEach(() => mock.timers.reset());

  /** Returns the rows of `a`, `b` and `c`, and the ids of each insert. The inserts in `failing` fail. */
  function open(failing: readonly number[] = []) {
    const inserts: string[][] = [];
    const planned = ['a', 'b', 'c'].map((id, index): PlannedDelivery => {
      const of = { workspace_id: 'a workspace', webhook_id: 'a webhook', event: 'issue.created' } as const;
      return { id, ...of, event_seq: index, event_id: `evt_${id}`, status: 'pending', reason: null };
    });
    const rows = createNewDeliveries(
      {
        async storeDeliveries(stored) {
          inserts.push(stored.map(({ id }) => id));
          if (failing.includes(inserts.length)) throw new Error('no connection');
          return new Set(stored.map(({ id }) => id));
        },
      },
      planned,
      NOW,
    );
    return { rows, inserts };
  }

  it('are stored in batches, each once', async () => {
    const { rows, inserts } = open();
    await Promise.all([rows.store(['a']), rows.store(['a', 'b'])]);
    await rows.store(['b', 'c', 'unknown']);
    assert.deepEqual(inserts, [['a', 'b'], ['c']]);
    rows.close();
  });

  it('are stored again after an error, which the caller gets', async () => {
    const { rows, inserts } = open([1]);
    await assert.rejects(rows.store(['a']), /no connection/);
    assert.equal(await rows.hasRow('a'), false);
    await rows.store(['a']);
    assert.equal(await rows.hasRow('a'), true);
    assert.deepEqual(inserts, [['a'], ['a']]);
    rows.close();
  });

  it('are written with the first result, unless they are stored', async () => {
    const { rows } = open();
    await rows.store(['a']);
    assert.equal(await rows.take('a'), null);
    const created_at = NOW.toISOString();
    const row = { event_seq: 1, event_id: 'evt_b', event: 'issue.created', created_at };
    assert.deepEqual(await rows.take('b'), row);
    rows.close();
  });

  it('are stored after half a second of their attempts', async () => {
    mock.timers.enable({ apis: ['setTimeout'] });
    const { rows, inserts } = open();
    for (const id of ['a', 'b', 'unknown']) rows.begin(id);
    await rows.take('a');
    mock.timers.tick(499);
    await new Promise(setImmediate);
    assert.deepEqual(inserts, []);
    mock.timers.tick(1);
    await new Promise(setImmediate);
    assert.deepEqual(inserts, [['b']]);
    assert.ok(await rows.hasRow('b'));
    rows.close();
  });

  it('are stored after two seconds, if there is no result by then', async () => {
    mock.timers.enable({ apis: ['setTimeout'] });
    const { rows, inserts } = open();
    await rows.take('a');
    mock.timers.tick(1_999);
    await new Promise(setImmediate);
    assert.deepEqual(inserts, []);
    mock.timers.tick(1);
    mock.timers.reset();
    await eventually('the others are stored', async () => await rows.hasRow('c'));
    assert.deepEqual(inserts, [['b', 'c']]);
  });

  it('are not stored after their group has ended', async () => {
    mock.timers.enable({ apis: ['setTimeout'] });
    const { rows, inserts } = open();
    rows.begin('a');
    rows.close();
    mock.timers.tick(2_000);
    await new Promise(setImmediate);
    assert.deepEqual(inserts, []);
  });
});
