import assert from 'node:assert/strict';
import type { DeliveryStore } from '../../src/database/webhooks/delivery-store.ts';
import type { AttemptResult, Recorded } from '../../src/database/webhooks/delivery-results.ts';
import { createResultRecorder } from '../../src/activities/deliveries/result-recorder.ts';
import { eventually } from '../support/eventually.ts';
import { successOf } from '../support/results.ts';

const resultOf = (id: string, members: Partial<AttemptResult> = {}) =>
  successOf({ id, webhook_id: 'a webhook', workspace_id: 'a workspace' }, members);
const failureOf = (id: string) => resultOf(id, { succeeded: false, failure: 'status' });

describe('the recorder of results', () => {
  /** Returns a recorder whose writes end on the test's command, and the ids of each write. */
  function open() {
    const writes: { ids: string[]; end: PromiseWithResolvers<void> }[] = [];
    const store = {
      async recordResults(results: readonly AttemptResult[]): Promise<Recorded> {
        const end = Promise.withResolvers<void>();
        writes.push({ ids: results.map(({ delivery_id: id }) => id), end });
        await end.promise;
        const state = { status: 'succeeded', generation: 0, failures: 0, next_attempt_at: null } as const;
        const recorded = results.map(({ delivery_id: id }) => [id, { ...state, number: 1 }] as const);
        return { recorded: new Map(recorded), disabled: [] };
      },
    } as Pick<DeliveryStore, 'recordResults'> as DeliveryStore;
    const written = (count: number) => eventually(`${count} writes`, () => writes.length >= count);
    return { recorder: createResultRecorder(store, () => {}), writes, written };
  }

  it('is overloaded only while too many results are not committed', async () => {
    const { recorder, writes, written } = open();
    const recording = Array.from({ length: 120 }, (_, index) => recorder.record(resultOf(`${index}`)));
    assert.ok(recorder.isOverloaded());
    for (const count of [1, 2]) {
      await written(count);
      writes[count - 1]?.end.resolve();
    }
    await Promise.all(recording);
    assert.deepEqual(
      writes.map(({ ids }) => ids.length),
      [60, 60],
    );
    assert.ok(!recorder.isOverloaded());
    const others = Array.from({ length: 119 }, (_, index) => recorder.record(resultOf(`${index}`)));
    assert.ok(!recorder.isOverloaded(), 'none of the first ones counts');
    for (const count of [3, 4]) {
      await written(count);
      writes[count - 1]?.end.resolve();
    }
    await Promise.all(others);
  });

  it('does not write many long responses together', async () => {
    const { recorder, writes, written } = open();
    const long = 'x'.repeat(300 * 1_024);
    const recording = ['', '', long, long, long, ''].map((response_body, index) =>
      recorder.record(
        resultOf(`${index}`, {
          response_body,
          ...(index === 5 ? { succeeded: false, failure: 'status' } : {}),
        }),
      ),
    );
    for (const count of [1, 2, 3]) {
      await written(count);
      writes[count - 1]?.end.resolve();
    }
    await Promise.all(recording);
    assert.deepEqual(
      writes.map(({ ids }) => ids),
      [['0', '1', '2'], ['3'], ['4', '5']],
    );
  });

  it('writes a success that came during a write', async () => {
    const { recorder, writes, written } = open();
    const first = recorder.record(failureOf('first'));
    const second = recorder.record(resultOf('second'));
    writes[0]?.end.resolve();
    await first;
    await written(2);
    writes[1]?.end.resolve();
    assert.equal((await second)?.number, 1);
    assert.deepEqual(
      writes.map(({ ids }) => ids),
      [['first'], ['second']],
    );
  });

  it('rejects the results of a failed write, and writes the next ones', async () => {
    const { recorder, writes } = open();
    const first = recorder.record(failureOf('first'));
    writes[0]?.end.reject(new Error('no such table'));
    await assert.rejects(first, /no such table/);
    const second = recorder.record(failureOf('second'));
    writes[1]?.end.resolve();
    assert.equal((await second)?.number, 1);
  });

  it('writes two results of a delivery one after the other', async () => {
    const { recorder, writes, written } = open();
    const held = recorder.record(failureOf('another'));
    const both = [recorder.record(failureOf('one')), recorder.record(resultOf('one'))];
    for (const count of [1, 2, 3]) {
      await written(count);
      writes[count - 1]?.end.resolve();
    }
    await Promise.all([held, ...both]);
    assert.deepEqual(
      writes.map(({ ids }) => ids),
      [['another'], ['one'], ['one']],
    );
  });

  it('resolves with the state of each delivery, and reports the webhooks that were disabled', async () => {
    const stateOf = (number: number) =>
      ({ status: 'retrying', generation: 0, failures: number, next_attempt_at: null, number }) as const;
    const disabled = [{ webhookId: 'w1' }, { webhookId: 'w2' }] as unknown as Recorded['disabled'];
    const store = {
      recordResults: async () => ({
        recorded: new Map([
          ['one', stateOf(1)],
          ['other', stateOf(2)],
        ]),
        disabled,
      }),
    } as Pick<DeliveryStore, 'recordResults'> as DeliveryStore;
    const reported: unknown[] = [];
    const recorder = createResultRecorder(store, (one) => void reported.push(one));
    const results = [resultOf('other'), resultOf('deleted'), failureOf('one')];
    assert.deepEqual(await Promise.all(results.map((result) => recorder.record(result))), [
      stateOf(2),
      null,
      stateOf(1),
    ]);
    assert.deepEqual(reported, disabled);
  });

  it('writes successes together, and a failure at once with all earlier successes', async () => {
    const { recorder, writes } = open();
    const successes = [recorder.record(resultOf('a')), recorder.record(resultOf('b'))];
    assert.equal(writes.length, 0);
    const failure = recorder.record(failureOf('c'));
    assert.deepEqual(
      writes.map(({ ids }) => ids),
      [['a', 'b', 'c']],
    );
    writes[0]?.end.resolve();
    await Promise.all([...successes, failure]);
  });
});
