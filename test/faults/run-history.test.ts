import assert from 'node:assert/strict';
import { findUnexplained, type Model, type Operation } from '../../faults/linearizability.ts';
import { feedHistory, feedModel, runHistory, runModel } from '../../faults/run-history.ts';
import type { CallerRequest, ViewerRecord } from '../../faults/records.ts';
import type { FeedEvent } from '../../src/domain/tasks/feed-events.ts';
import { createRandom, type Random } from '../support/random.ts';
import { createCallerRequest } from './passing-records.ts';

/** A register: `write` stores a value, `read` must return the stored one. */
type RegisterInput = { kind: 'write' | 'read'; value: number };
const REGISTER: Model<number, RegisterInput> = {
  initial: 0,
  keyOf: String,
  next: (stored, { kind, value }) => (kind === 'write' ? [value] : stored === value ? [stored] : []),
};
const operation = (
  kind: RegisterInput['kind'],
  value: number,
  [calledAt, returnedAt]: readonly [number, number],
  isCertain = true,
): Operation<RegisterInput> => ({ input: { kind, value }, calledAt, returnedAt, isCertain });

describe('the search for an order of operations', () => {
  it('finds one in which an operation takes effect between its call and its return', () => {
    const history = [
      operation('write', 1, [0, 10]),
      operation('read', 0, [1, 9]),
      operation('read', 1, [2, 3]),
    ];
    assert.equal(findUnexplained(history, REGISTER), null);
  });

  it('finds none if a read returns an older value than a read that ended before it', () => {
    const history = [
      operation('write', 1, [0, 10]),
      operation('read', 1, [1, 2]),
      operation('read', 0, [3, 4]),
      operation('read', 1, [11, 12]),
    ];
    const unexplained = findUnexplained(history, REGISTER);
    assert.deepEqual(unexplained?.at(-1)?.input, { kind: 'read', value: 0 });
    assert.equal(unexplained?.length, 2, 'what was called later does not matter');
  });

  it('lets an operation without a response have its effect at any later time, or none', () => {
    const unknown = operation('write', 1, [0, Infinity], false);
    const before = operation('read', 0, [10, 11]);
    assert.equal(findUnexplained([unknown, before], REGISTER), null);
    assert.equal(findUnexplained([unknown, before, operation('read', 1, [12, 13])], REGISTER), null);
    const back = [unknown, operation('read', 1, [10, 11]), operation('read', 0, [12, 13])];
    assert.notEqual(findUnexplained(back, REGISTER), null);
  });

  it('tries equal operations without a response only in the order of their calls', () => {
    // Two to the power of 60 choices otherwise.
    const unanswered = Array.from({ length: 60 }, (_, at) => operation('write', 1, [at, Infinity], false));
    const reads = Array.from({ length: 30 }, (_, at) => operation('read', 1, [2 * at + 10, 2 * at + 11]));
    assert.equal(findUnexplained([...unanswered, ...reads], REGISTER), null);
    const back = operation('read', 0, [100, 101]);
    assert.equal(findUnexplained([...unanswered, ...reads, back], REGISTER)?.length, 31);
  });

  it('agrees with trying all orders, for random histories', () => {
    const random = createRandom(20_26);
    const found = { explained: 0, unexplained: 0 };
    for (let n = 0; n < 2_000; n += 1) {
      const history = randomHistory(random);
      const expected = hasOrderByTrying(history);
      assert.equal(findUnexplained(history, REGISTER) === null, expected, JSON.stringify(history));
      found[expected ? 'explained' : 'unexplained'] += 1;
    }
    assert.ok(found.explained > 200 && found.unexplained > 200, JSON.stringify(found));
  });
});

function randomHistory(random: Random): Operation<RegisterInput>[] {
  return Array.from({ length: random.whole(2, 5) }, () => {
    const calledAt = random.whole(0, 12);
    const isCertain = random.next() < 0.6;
    const returnedAt = random.next() < 0.75 && isCertain ? calledAt + random.whole(1, 8) : Infinity;
    return operation(random.of(['write', 'read']), random.whole(0, 2), [calledAt, returnedAt], isCertain);
  });
}

function hasOrderByTrying(open: readonly Operation<RegisterInput>[], stored = 0): boolean {
  if (!open.some(({ isCertain }) => isCertain)) return true;
  return open.some((one, index) => {
    const others = open.toSpliced(index, 1);
    if (others.some(({ returnedAt }) => returnedAt < one.calledAt)) return false;
    return REGISTER.next(stored, one.input).some((next) => hasOrderByTrying(others, next));
  });
}

const poll = (sentAt: number, state: CallerRequest['state'], lastSeq: number, receivedAt = sentAt + 1) =>
  createCallerRequest('poll', sentAt, receivedAt, { ...(state === undefined ? {} : { state }), lastSeq });
const command = (
  name: 'pause' | 'continue' | 'cancel',
  sentAt: number,
  fields: Partial<CallerRequest>,
  receivedAt: number | null = sentAt + 1,
) => createCallerRequest(name, sentAt, receivedAt, { status: 202, ...fields });

const EXPLAINED: Readonly<Record<string, readonly CallerRequest[]>> = {
  'a run that completes': [
    poll(0, 'initializing', 0),
    poll(2, 'executing', 2),
    poll(4, 'executing', 5),
    poll(6, 'completed', 9),
  ],
  'a pause and a continue that are shown': [
    poll(0, 'executing', 2),
    command('pause', 2, { state: 'paused', lastSeq: 3 }),
    poll(4, 'paused', 4),
    command('continue', 6, { state: 'executing', lastSeq: 5 }),
  ],
  'a pause without a response that takes effect later': [
    poll(0, 'executing', 2),
    command('pause', 2, { status: null }, null),
    poll(10, 'executing', 3),
    poll(20, 'paused', 4),
  ],
  'a pause that got a 503 and had no effect': [
    command('pause', 2, { status: 503 }),
    poll(10, 'completed', 6),
    poll(20, 'completed', 6),
  ],
  'a pause that was lifted before it was recorded': [
    poll(0, 'executing', 2),
    command('pause', 2, { state: 'executing', lastSeq: 2 }),
    command('continue', 4, { state: 'executing', lastSeq: 2 }),
    poll(6, 'executing', 2),
  ],
  'a pause and a continue that are both recorded after their responses': [
    command('pause', 0, { state: 'executing', lastSeq: 2 }),
    command('continue', 2, { state: 'executing', lastSeq: 2 }),
    poll(4, 'executing', 2),
    poll(6, 'paused', 5),
    poll(8, 'executing', 9),
  ],
  'two reads at the same time that see different states': [
    poll(0, 'completed', 5, 10),
    poll(1, 'executing', 2, 9),
  ],
  'a cancel of a cancelled run': [
    command('cancel', 0, { state: 'cancelled', lastSeq: 1 }),
    command('cancel', 2, { state: 'cancelled', lastSeq: 1 }),
  ],
  'a pause that is refused because the run ends': [
    poll(0, 'executing', 2),
    command('pause', 2, { status: 409 }, 8),
    poll(9, 'completed', 5),
  ],
};

const UNEXPLAINED: Readonly<Record<string, readonly CallerRequest[]>> = {
  'a state that goes back': [poll(0, 'executing', 2), poll(2, 'planning', 3)],
  'a read that is older than the one before': [poll(0, 'executing', 4), poll(2, 'executing', 3)],
  'two states with the same number of events': [poll(0, 'executing', 2), poll(2, 'completed', 2)],
  'fewer events than changes of the state': [poll(0, 'initializing', 0), poll(2, 'completed', 2)],
  'a change after the end': [poll(0, 'failed', 4), poll(2, 'cancelled', 5)],
  'a pause that nobody asked for': [poll(0, 'executing', 2), poll(2, 'paused', 3)],
  'a pause before anybody asked for it': [
    poll(0, 'paused', 3),
    command('pause', 2, { state: 'paused', lastSeq: 3 }),
  ],
  'progress during a pause': [command('pause', 0, { state: 'paused', lastSeq: 1 }), poll(2, 'executing', 4)],
  'a pause after the continue that ended it': [
    command('pause', 0, { state: 'paused', lastSeq: 3 }),
    command('continue', 2, { state: 'executing', lastSeq: 4 }),
    poll(4, 'paused', 5),
  ],
  'a return to another state than the run was paused from': [
    poll(0, 'executing', 2),
    command('pause', 2, { state: 'paused', lastSeq: 3 }),
    command('continue', 4, { state: 'planning', lastSeq: 4 }),
  ],
  'an accepted cancel of a run that completed later': [
    poll(0, 'executing', 2),
    command('cancel', 2, { state: 'executing', lastSeq: 2 }),
    poll(9, 'completed', 5),
  ],
  'an accepted cancel of a run that had completed': [
    poll(0, 'completed', 5),
    command('cancel', 2, { state: 'cancelled', lastSeq: 6 }),
  ],
  'a refused pause of a run in progress': [command('pause', 0, { status: 409 }), poll(2, 'executing', 3)],
  'a refused cancel of a cancelled run': [
    command('cancel', 0, { state: 'cancelled', lastSeq: 1 }),
    command('cancel', 2, { status: 409 }),
  ],
};

describe('the history of a run', () => {
  for (const [title, requests] of Object.entries(EXPLAINED)) {
    it(`is explained: ${title}`, () => {
      assert.equal(findUnexplained(runHistory(requests), runModel(0)), null);
    });
  }
  for (const [title, requests] of Object.entries(UNEXPLAINED)) {
    it(`is not explained: ${title}`, () => {
      assert.notEqual(findUnexplained(runHistory(requests), runModel(0)), null);
    });
  }

  it('is explained with a question that pauses the run, once', () => {
    const asked = [poll(0, 'executing', 2), poll(2, 'paused', 4)];
    assert.equal(findUnexplained(runHistory(asked), runModel(1)), null);
    const again = [
      ...asked,
      command('continue', 4, { state: 'executing', lastSeq: 5 }),
      poll(6, 'paused', 8),
    ];
    assert.equal(findUnexplained(runHistory(again), runModel(2)), null);
    assert.notEqual(findUnexplained(runHistory(again), runModel(1)), null);
  });
});

describe('the feed of a run', () => {
  const event = (seq: number, type: FeedEvent['type'], data: FeedEvent['data'] = {}): FeedEvent => ({
    seq,
    execution_id: 'run',
    at: '2026-01-31T12:00:00.000Z',
    type,
    data,
  });
  const events = [
    event(1, 'state.changed', { to: 'planning' }),
    event(2, 'state.changed', { to: 'executing' }),
    event(3, 'step.completed'),
    event(4, 'step.progress'),
    event(5, 'state.changed', { to: 'completed' }),
  ];
  const unexplained = (requests: CallerRequest[], receivedAt: number[]) => {
    const viewers: ViewerRecord[] = [
      { executionId: 'run', client: 'ws', connections: 1, events, receivedAt },
    ];
    return findUnexplained(feedHistory(requests, viewers), feedModel(viewers));
  };

  it('is explained if viewers receive events later than callers read them', () => {
    const requests = [poll(0, 'executing', 3), poll(2, 'completed', 5)];
    assert.equal(unexplained(requests, [10, 11, 12, 13, 14]), null);
  });

  it('is not explained if a response lacks a change that a viewer had received', () => {
    const requests = [poll(5, 'executing', 2)];
    assert.notEqual(unexplained(requests, [1, 2, 3, 20, 21]), null);
    assert.equal(unexplained(requests, [1, 2, 9, 20, 21]), null, 'received at the same time or later');
  });

  it('is explained if a response lacks only progress', () => {
    const requests = [poll(5, 'executing', 3)];
    assert.equal(unexplained(requests, [1, 2, 3, 4, 20]), null);
  });

  it('is not explained if a response has another state than viewers received for that event', () => {
    assert.notEqual(unexplained([poll(5, 'planning', 3)], [1, 2, 3, 20, 21]), null);
  });
});
