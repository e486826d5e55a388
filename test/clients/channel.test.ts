import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { mock } from 'node:test';
import { joinRoom, type WebSocketLike } from '../../clients/typescript/src/channel.ts';
import type { Http } from '../../clients/typescript/src/http.ts';

const MINUTE_MS = 60_000;

/** A WebSocket without a network. */
class FakeSocket implements WebSocketLike {
  static last: FakeSocket;
  readyState = 0;
  readonly sent: Record<string, unknown>[] = [];
  readonly #listeners = new Map<string, (event: object) => void>();
  constructor() {
    FakeSocket.last = this;
  }
  addEventListener(type: string, listener: (event: object) => void): void {
    this.#listeners.set(type, listener);
  }
  send(data: string): void {
    this.sent.push(JSON.parse(data));
  }
  close(): void {
    this.readyState = 3;
  }
  emit(type: string, event: object = {}): void {
    if (type === 'open') this.readyState = 1;
    this.#listeners.get(type)?.(event);
  }
  message(body: object): void {
    this.emit('message', { data: JSON.stringify(body) });
  }
}

describe('a room that the client package has joined', () => {
  beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }));
  afterEach(() => mock.timers.reset());

  const settled = () => new Promise((resolve) => setImmediate(resolve));

  /** Joins a room. `tokens` are the results of the requests for a token, of which the last is repeated. */
  async function join(tokens: (string | Error)[] = ['first']) {
    const requested: string[] = [];
    const freshToken = async () => {
      const token = tokens[Math.min(requested.length, tokens.length - 1)] ?? '';
      requested.push(String(token));
      if (typeof token !== 'string') throw token;
      return { token, lifetimeMs: 15 * MINUTE_MS };
    };
    const http = { credentials: { freshToken } } as unknown as Http;
    const gone = new AbortController();
    const dependencies = { WebSocket: FakeSocket, url: 'ws://localhost/ws' };
    const joining = joinRoom(http, dependencies, { id: 'run-1', after: 3, signal: gone.signal });
    joining.catch(() => {});
    await settled();
    const socket = FakeSocket.last;
    socket.emit('open');
    return { joining, socket, gone, requested };
  }
  async function joined(tokens?: (string | Error)[]) {
    const { joining, socket, ...rest } = await join(tokens);
    socket.message({ type: 'joined' });
    return { ...rest, socket, room: await joining };
  }
  const renewals = (socket: FakeSocket) => socket.sent.filter(({ type }) => type === 'renew');

  it('was asked for with the last event, and gives up after ten seconds', async () => {
    const { joining, socket } = await join();
    assert.deepEqual(socket.sent, [{ type: 'join', room: 'workflow:run-1', after: 3 }]);
    mock.timers.tick(10_000);
    await assert.rejects(joining, { isPermanent: true });
    assert.equal(socket.readyState, 3);
  });

  it('stays open after the time limit of the join', async () => {
    const { socket, room } = await joined();
    mock.timers.tick(10_000);
    assert.equal(socket.readyState, 1);
    room.close();
  });

  it('renews its token after two thirds of its life, each time', async () => {
    const { socket, room } = await joined(['first', 'second', 'third']);
    mock.timers.tick(10 * MINUTE_MS - 1);
    await settled();
    assert.deepEqual(renewals(socket), []);
    mock.timers.tick(1);
    await settled();
    mock.timers.tick(10 * MINUTE_MS);
    await settled();
    assert.deepEqual(
      renewals(socket).map(({ token }) => token),
      ['second', 'third'],
    );
    room.close();
  });

  it('renews its token five seconds after a failure', async () => {
    const { socket, room } = await joined([
      'first',
      new Error('unreachable'),
      new Error('unreachable'),
      'next',
    ]);
    mock.timers.tick(10 * MINUTE_MS);
    await settled();
    for (let count = 0; count < 2; count += 1) {
      assert.deepEqual(renewals(socket), []);
      mock.timers.tick(5_000);
      await settled();
    }
    assert.deepEqual(
      renewals(socket).map(({ token }) => token),
      ['next'],
    );
    room.close();
  });

  it('requests no token after its end, and leaves nothing at the signal', async () => {
    const { socket, room, gone, requested } = await joined();
    room.close();
    mock.timers.tick(20 * MINUTE_MS);
    await settled();
    assert.deepEqual(requested, ['first']);
    assert.equal(socket.readyState, 3);
    assert.deepEqual(getEventListeners(gone.signal, 'abort'), []);
  });

  it('returns what it has received, then the reason of its end', async () => {
    const { socket, room } = await joined();
    for (const seq of [4, 5]) socket.message({ type: 'event', event: { seq } });
    socket.message({ type: 'closed', code: 'token_expired', message: 'The token has expired.' });
    socket.message({ type: 'event', event: { seq: 6 } });
    socket.emit('close');
    assert.deepEqual([(await room.next(1))?.seq, (await room.next(1))?.seq], [4, 5]);
    await assert.rejects(room.next(1), /The token has expired/);
  });

  it('ends if five thousand events wait for the caller, and returns them', async () => {
    const { socket, room } = await joined();
    for (let seq = 4; seq < 5_004; seq += 1) socket.message({ type: 'event', event: { seq } });
    assert.equal(socket.readyState, 1);
    socket.message({ type: 'event', event: { seq: 5_004 } });
    assert.equal(socket.readyState, 3);
    for (let seq = 4; seq < 5_004; seq += 1) assert.equal((await room.next(1))?.seq, seq);
    await assert.rejects(room.next(1), /faster/);
  });

  it('wakes its reader for an event, at the end, or after the given time', async () => {
    const { socket, room } = await joined();
    const event = room.next(MINUTE_MS);
    socket.message({ type: 'event', event: { seq: 4 } });
    assert.equal((await event)?.seq, 4);
    const nothing = room.next(MINUTE_MS);
    mock.timers.tick(MINUTE_MS);
    assert.equal(await nothing, null);
    const lost = room.next(MINUTE_MS);
    socket.emit('close');
    await assert.rejects(lost, /lost/);
  });

  it('is refused with the reason of the service, but a later refusal ends nothing', async () => {
    const { joining, socket } = await join();
    socket.message({ type: 'refused', code: 'forbidden', message: 'No access to this room.' });
    await assert.rejects(joining, /No access to this room/);
    const later = await joined();
    later.socket.message({
      type: 'refused',
      code: 'forbidden',
      message: 'The token is for another project.',
    });
    assert.equal(later.socket.readyState, 1);
    later.room.close();
  });
});
