import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { MAX_ROOM_LENGTH } from '../../src/domain/common/limits.ts';
import { tokenOf } from '../../src/gateway/admission.ts';
import { describeError, isObject, roomNamed, shortened } from '../../src/gateway/client-messages.ts';
import { Message } from '../../src/gateway/message.ts';
import { createMetricsRecorder } from '../../src/gateway/metrics.ts';
import { Pending } from '../../src/gateway/pending.ts';
import { createPlaces } from '../../src/gateway/places.ts';

describe('the body of a client message', () => {
  it('has fields if it is an object', () => {
    assert.ok(isObject({}));
    for (const other of [null, undefined, [], 'text', 7]) assert.ok(!isObject(other));
  });

  it('names a room, unless it is too long to exist', () => {
    const longest = 'x'.repeat(MAX_ROOM_LENGTH);
    for (const room of ['', 'a', longest]) assert.equal(roomNamed({ room }), room);
    for (const body of [{ room: `${longest}x` }, { room: 7 }, {}, null, 'a', [{ room: 'a' }]])
      assert.equal(roomNamed(body), null);
  });

  it('is repeated up to 50 characters', () => {
    assert.equal(shortened('x'.repeat(50)), 'x'.repeat(50));
    assert.equal(shortened(`${'x'.repeat(50)}y`), 'x'.repeat(50));
  });

  it('has its first error described, with the path of the field, in at most 200 characters', () => {
    const described = (...issues: { path: PropertyKey[]; message: string }[]) =>
      describeError('join', { issues });
    const first = { path: ['a', 0, 'b'], message: 'is wrong' };
    assert.equal(described(first, { path: ['c'], message: 'is missing' }), 'join: `a.0.b`: is wrong.');
    assert.equal(described({ path: [], message: 'is wrong' }), 'join: is wrong.');
    assert.equal(described(), 'join: is not valid.');
    assert.equal(described({ path: [], message: 'x'.repeat(300) }), `join: ${'x'.repeat(194)}`);
  });
});

describe('the token of a request', () => {
  const token = (url: string | undefined, authorization?: string) =>
    tokenOf({ url, headers: authorization === undefined ? {} : { authorization } } as IncomingMessage);

  it('is in the query or the header, and the query counts first', () => {
    assert.equal(token('/ws?EIO=4&token=a'), 'a');
    assert.equal(token('/ws', 'Bearer b'), 'b');
    assert.equal(token('/ws', 'bearer  b'), 'b');
    assert.equal(token('/ws?token=a', 'Bearer b'), 'a');
    assert.equal(token('/ws?token=', 'Bearer b'), '');
    for (const other of ['Basic b', 'Bearer', 'Bearer b c', 'x Bearer b', 'Bearerb'])
      assert.equal(token('/ws', other), null, other);
    for (const url of [undefined, '/ws', '/ws?other=a']) assert.equal(token(url), null);
  });
});

describe('the places of connections', () => {
  it('are limited by each key and overall, and a place is freed once', () => {
    const places = createPlaces(3);
    const take = (keys: Record<string, number>) => places.take(keys);
    const first = take({ a: 1, owner: 2 });
    assert.ok(first);
    assert.equal(take({ a: 1, owner: 2 }), null, 'the key has no place left');
    const second = take({ b: 1, owner: 2 });
    assert.ok(second, 'the refused one took no place');
    assert.equal(take({ c: 1, owner: 2 }), null, 'the owner has no place left');
    const third = take({ d: 1 });
    assert.ok(third);
    assert.equal(take({ e: 1 }), null, 'there is no place left');
    first();
    first();
    assert.ok(take({ a: 1, owner: 2 }));
    assert.equal(take({ e: 1 }), null, 'only one place was freed');
    second();
    third();
    assert.ok(take({ b: 1, d: 1, owner: 2 }), 'the keys have their places again');
  });
});

describe('the bytes that a connection has not received', () => {
  it('are counted until all are received, and then each waiter is called once', () => {
    const pending = new Pending();
    const called: string[] = [];
    pending.onceDrained(() => void called.push('nothing is pending'));
    assert.deepEqual(called.splice(0), ['nothing is pending']);
    const [first, second] = [pending.add(3), pending.add(4)];
    assert.equal(pending.bytes, 7);
    pending.onceDrained(() => {
      called.push('one');
      // It waits for the next time.
      pending.add(1);
      pending.onceDrained(() => void called.push('again'));
    });
    pending.onceDrained(() => void called.push('other'));
    second();
    assert.deepEqual([pending.bytes, called], [3, []]);
    first();
    assert.deepEqual([pending.bytes, called], [1, ['one', 'other']]);
  });
});

describe('a message to clients', () => {
  it('is an event of Socket.IO, and a JSON object with its type for plain clients', () => {
    const event = { type: 'webhook.changed', webhook_id: 'ü', webhook: null } as const;
    for (const [message, name, body, plain] of [
      [Message.of('event', event), 'event', event, { type: 'event', event }],
      [
        Message.of('listening_ended', { webhook_id: 'w', reason: 'gone' }),
        'listening_ended',
        { webhook_id: 'w', reason: 'gone' },
        { type: 'listening_ended', webhook_id: 'w', reason: 'gone' },
      ],
    ] as const) {
      assert.equal(message.socketIo[0], '2');
      assert.deepEqual(JSON.parse(message.socketIo.slice(1)), [name, body]);
      assert.deepEqual(JSON.parse(message.plainBytes.toString()), plain);
      assert.equal(message.plainBytes, message.plainBytes, 'it is encoded once');
    }
  });
});

describe('the numbers of the channel', () => {
  it('are the connections, the rooms, and lags in tenths of milliseconds', () => {
    const metrics = createMetricsRecorder(() => new Date(0));
    for (const change of [1, 1, -1, 1] as const) metrics.connected(change);
    for (const lag of [1.26, 7.04]) metrics.lagged(lag);
    assert.deepEqual(metrics.read({ workflow: 3, webhook: 4 }), {
      connections: 2,
      rooms: { workflow: 3, webhook: 4 },
      events_sent: 0,
      events_per_second: 0,
      lag_ms: { p50: 1.3, p95: 7, max: 7 },
      dropped: {},
    });
  });
});
