import assert from 'node:assert/strict';
import { ApplicationFailure } from '@temporalio/common';
import { retryOnOutage, retryUntilCancelled } from '../../src/activities/retry-on-outage.ts';
import {
  isDatabaseOutage,
  isDeadlock,
  isDuplicate,
  isForeignKeyMissing,
  refusedDataCode,
  retryOnDeadlock,
} from '../../src/database/common/outage.ts';

const withCode = (code: unknown, cause?: unknown) => Object.assign(new Error('x', { cause }), { code });

describe('an error of the database', () => {
  const outages = [
    'ECONNREFUSED ECONNRESET ENOTFOUND EAI_AGAIN ETIMEDOUT EPIPE ENOENT',
    '08000 08P01 53300 57P01 57P05 25006 25P03 55P03 57014',
  ].flatMap((codes) => codes.split(' '));
  for (const code of outages) {
    it(`means an outage if its code is ${code}`, () => {
      assert.equal(isDatabaseOutage(withCode(code)), true);
      assert.equal(isDatabaseOutage(new Error('wrapped', { cause: withCode(code) })), true);
      assert.equal(isDatabaseOutage(new AggregateError([new Error('x'), withCode(code)])), true);
    });
  }

  const messages = [
    'Connection terminated unexpectedly',
    'timeout exceeded when trying to connect',
    'Client has encountered a connection error and is not queryable',
    'connection error and is not queryable',
  ];
  for (const message of messages) {
    it(`means an outage if it says "${message}"`, () => {
      assert.equal(isDatabaseOutage(new Error(message)), true);
      assert.equal(isDatabaseOutage(message), false, 'text is not an error');
    });
  }

  it('means no outage otherwise', () => {
    for (const code of [
      '23505',
      '40P01',
      '57P06',
      '57P00',
      '108006',
      '080061',
      '5330',
      '57015',
      57_014,
      undefined,
    ])
      assert.equal(isDatabaseOutage(withCode(code)), false, String(code));
    assert.equal(isDatabaseOutage(new AggregateError([new Error('x')])), false);
    assert.equal(isDatabaseOutage({ code: 'ECONNREFUSED' }), false);
    assert.equal(isDatabaseOutage(null), false);
  });

  it('can be its own cause', () => {
    const error = new Error('x');
    error.cause = error;
    assert.equal(isDatabaseOutage(error), false);
    assert.equal(refusedDataCode(error), null);
  });

  it('about refused data has its code', () => {
    assert.equal(refusedDataCode(withCode('22P02')), '22P02');
    assert.equal(refusedDataCode(new Error('x', { cause: withCode('22003') })), '22003');
    for (const code of ['23505', '2200', '220033', 'x22003', 22_003, undefined])
      assert.equal(refusedDataCode(withCode(code)), null, String(code));
    assert.equal(refusedDataCode({ code: '22003' }), null);
  });

  const kinds = [
    [isDuplicate, '23505'],
    [isForeignKeyMissing, '23503'],
    [isDeadlock, '40P01'],
  ] as const;
  for (const [is, code] of kinds) {
    it(`with the code ${code} is recognised, also as a cause`, () => {
      assert.equal(is(withCode(code)), true);
      assert.equal(is(withCode('XX000', withCode(code))), true);
      for (const other of [
        withCode('XX000'),
        new Error('x'),
        new Error('x', { cause: { code } }),
        { code },
        null,
      ])
        assert.equal(is(other), false);
    });
  }
});

describe('a transaction that PostgreSQL rolled back because of a deadlock', () => {
  const failing = (times: number, error: Error) => {
    let tries = 0;
    const work = async () => {
      tries += 1;
      if (tries <= times) throw error;
      return tries;
    };
    return { work, tries: () => tries };
  };

  it('is repeated, five tries in all', async () => {
    assert.equal(await retryOnDeadlock(failing(0, withCode('40P01')).work), 1);
    assert.equal(await retryOnDeadlock(failing(4, withCode('40P01')).work), 5);
    const endless = failing(9, withCode('40P01'));
    await assert.rejects(retryOnDeadlock(endless.work), { code: '40P01' });
    assert.equal(endless.tries(), 5);
  });

  it('is not repeated after another error', async () => {
    const { work, tries } = failing(1, withCode('23505'));
    await assert.rejects(retryOnDeadlock(work), { code: '23505' });
    assert.equal(tries(), 1);
  });
});

describe('a write during an outage of the database', () => {
  const outage = withCode('57P03');

  it('is repeated until it succeeds, and knows that it was tried before', async () => {
    const tries: boolean[] = [];
    const write = async (isAgain: boolean) => {
      tries.push(isAgain);
      if (tries.length < 3) throw outage;
      return 'written';
    };
    assert.equal(await retryOnOutage(write), 'written');
    assert.deepEqual(tries, [false, true, true]);
  });

  it('is not repeated after another error, nor in a process that stops', async () => {
    let tries = 0;
    const failing = (error: Error) => async () => {
      tries += 1;
      throw error;
    };
    await assert.rejects(retryOnOutage(failing(withCode('23505'))), { code: '23505' });
    await assert.rejects(retryOnOutage(failing(outage), AbortSignal.abort()), outage);
    assert.equal(tries, 2);
  });
});

describe('work that waits for the database', () => {
  const failing = (...errors: Error[]) => {
    const work = async () => {
      const error = errors.shift();
      if (error) throw error;
      return 'done';
    };
    return work;
  };
  const { signal } = new AbortController();

  it('is repeated after outages', async () => {
    assert.equal(
      await retryUntilCancelled(failing(withCode('57P03'), withCode('ECONNREFUSED')), signal),
      'done',
    );
  });

  it('fails after another error, whose message it does not show, unless the database refuses a value', async () => {
    for (const [error, kind] of [
      [withCode('23505'), '23505'],
      [new TypeError('a secret'), 'TypeError'],
    ] as const) {
      const failure = await retryUntilCancelled(failing(error), signal).catch((thrown: unknown) => thrown);
      assert.ok(failure instanceof ApplicationFailure);
      assert.deepEqual(
        [failure.message, failure.cause, failure.nonRetryable],
        [`a database statement failed (${kind})`, undefined, false],
      );
    }
    const refused = withCode('22P05');
    await assert.rejects(retryUntilCancelled(failing(refused), signal), refused);
  });

  it('is done once if the activity is cancelled, and otherwise ends with the reason', async () => {
    const aborted = AbortSignal.abort(new Error('cancelled'));
    assert.equal(await retryUntilCancelled(failing(), aborted), 'done');
    await assert.rejects(retryUntilCancelled(failing(withCode('57P03')), aborted), /^Error: cancelled$/);
    const controller = new AbortController();
    const work = async () => {
      setImmediate(() => controller.abort());
      throw withCode('57P03');
    };
    await assert.rejects(retryUntilCancelled(work, controller.signal), { name: 'AbortError' });
  });
});
