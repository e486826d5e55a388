import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { pino } from 'pino';
import { startGateway } from '../../src/gateway/server.ts';
import { CHANNEL_CODES } from '../../src/domain/channel/channel.ts';
import { eventually } from '../support/eventually.ts';
import { holdTimers } from '../support/held-timers.ts';
import { type NotUpgraded, openPlain } from '../support/plain-channel.ts';
import { useOwnWorld } from '../support/world.ts';
import { startOwnChannel } from './own-channel.ts';
import { WAYS } from './ways.ts';

const PER_ADDRESS = 3;
const OVERALL = 5;
/** A time that no other timer has. */
const HANDSHAKE_MS = 61_001;
/** The packet of Socket.IO that opens the namespace, as a message of Engine.IO. */
const CONNECT = '40';
/** A packet of Engine.IO that does nothing. */
const NOOP = '6';
/** The packet that leaves it, and the answer to a ping, which keeps a session. */
const LEAVE = '41';
const PONG = '3';

describe('connections to the channel that have not authenticated', () => {
  const world = useOwnWorld({
    worker: false,
    environment: {
      CHANNEL_HANDSHAKES_PER_ADDRESS: String(PER_ADDRESS),
      CHANNEL_HANDSHAKES: String(OVERALL),
      TRUSTED_PROXIES: '127.0.0.0/8',
    },
  });
  let token: string;
  before(async () => {
    token = (await world.send('POST', '/api/v1/tokens')).json.token;
  });

  /** Begins a session by long polling, without a token unless the query has one. */
  const begin = async (address: string, query = '', url = world.api.url) => {
    const response = await fetch(`${url}/ws?EIO=4&transport=polling${query}`, {
      headers: { 'X-Forwarded-For': address },
    });
    const text = await response.text();
    const sid = response.ok ? (JSON.parse(text.slice(1)).sid as string) : null;
    return { status: response.status, headers: response.headers, text, sid };
  };
  const post = (sid: string | null, body: string, url = world.api.url) =>
    fetch(`${url}/ws?EIO=4&transport=polling&sid=${sid}`, { method: 'POST', body });
  const poll = async (sid: string | null, url = world.api.url) =>
    await (await fetch(`${url}/ws?EIO=4&transport=polling&sid=${sid}`)).text();
  const filled = async (address: string, count: number) =>
    await Promise.all(Array.from({ length: count }, () => begin(address)));
  const ended = async (begun: { sid: string | null }[]) => {
    for (const { sid } of begun) await post(sid, '1');
  };
  const refusedPlainly = async (bad: string | null, address: string): Promise<NotUpgraded> =>
    await openPlain(world.api.url, bad, { headers: { 'X-Forwarded-For': address } }).then(
      () => assert.fail('let in'),
      (error: NotUpgraded) => error,
    );

  it('are limited by the address that the proxy saw', async () => {
    const dropped = async () =>
      (await world.send('GET', '/health/channel')).json.dropped.too_many_handshakes ?? 0;
    const before = await dropped();
    const begun = await filled('203.0.113.1', PER_ADDRESS);
    assert.deepEqual(new Set(begun.map(({ status }) => status)), new Set([200]));
    const refused = await begin('203.0.113.1');
    assert.equal(refused.status, 429);
    assert.equal(refused.headers.get('content-type'), 'application/problem+json');
    assert.ok(Number(refused.headers.get('retry-after')) > 0);
    const problem = JSON.parse(refused.text);
    assert.deepEqual(
      [problem.code, problem.detail],
      ['too_many_handshakes', CHANNEL_CODES.too_many_handshakes],
    );
    const plain = await refusedPlainly(null, '203.0.113.1');
    assert.deepEqual([plain.status, JSON.parse(plain.body).code], [429, 'too_many_handshakes']);
    assert.equal(await dropped(), before + 2);
    const other = await begin('203.0.113.2');
    assert.equal(other.status, 200);
    await ended([...begun, other]);
    const again = await eventually('a place is free', async () => {
      const next = await begin('203.0.113.1');
      return next.status === 200 && next;
    });
    await ended([again]);
  });

  it('are limited in the same way by a gateway', async () => {
    const gateway = await startGateway(world.configuration, pino({ level: 'silent' }));
    try {
      const statuses: number[] = [];
      for (const address of [...Array<string>(PER_ADDRESS + 1).fill('203.0.113.1'), '203.0.113.2'])
        statuses.push((await begin(address, '', gateway.url)).status);
      assert.deepEqual(statuses, [...Array<number>(PER_ADDRESS).fill(200), 429, 200]);
    } finally {
      await gateway.close();
    }
  });

  it('are limited in all', async () => {
    const begun = [await filled('203.0.113.1', 3), await filled('203.0.113.2', 2)].flat();
    assert.equal((await begin('203.0.113.3')).status, 429);
    assert.equal((await refusedPlainly('bad', '203.0.113.3')).status, 429);
    for (const query of ['&sid=', '&sid=x&sid='])
      assert.equal((await begin('203.0.113.3', query)).status, 429);
    await ended(begun);
  });

  it('do not lock out users with a token in the address', async () => {
    const strangers = await eventually('all places are taken', async () => {
      const begun = await filled('127.0.0.1', PER_ADDRESS);
      const isFull = (await begin('127.0.0.1')).status === 429;
      if (!isFull) await ended(begun);
      return isFull && begun;
    });
    const plain = await openPlain(world.api.url, token);
    const { status, sid } = await begin('127.0.0.1', `&token=${token}`);
    assert.equal(status, 200);
    await post(sid, CONNECT);
    assert.match(await poll(sid), /^40\{"sid"/);
    await plain.close();
    await ended([...strangers, { sid }]);
  });

  it('count no longer once they have authenticated', async () => {
    const open = [];
    for (let count = 0; count < OVERALL + 1; count += 1) {
      const { sid } = await begin('203.0.113.4');
      await post(sid, `${CONNECT}{"token":"${token}"}`);
      assert.match(await poll(sid), /^40\{"sid"/);
      open.push({ sid });
    }
    for (const way of WAYS) await (await way.open(world.api.url, token)).close();
    await ended(open);
  });

  it('count no longer after requests that begin no session', async () => {
    for (let count = 0; count < OVERALL + 1; count += 1) {
      const url = `${world.api.url}/ws?EIO=3&transport=polling`;
      const headers = { 'X-Forwarded-For': '203.0.113.5' };
      assert.equal((await fetch(url, { headers })).status, 400);
      assert.equal((await refusedPlainly('bad', '203.0.113.5')).status, 401);
    }
  });

  it('are closed after a time, whether they poll or not', async () => {
    const own = await startOwnChannel(world, { handshakeMs: HANDSHAKE_MS });
    try {
      using timers = holdTimers(HANDSHAKE_MS);
      const begun = [];
      for (let count = 0; count < PER_ADDRESS; count += 1) begun.push(await begin('', '', own.url));
      assert.equal((await begin('', '', own.url)).status, 429);
      const arrival = once(own.server, 'request');
      const polling = poll(begun[0]?.sid ?? null, own.url);
      await arrival;
      // A later request was handled, so the poll waits.
      assert.equal((await post(begun[1]?.sid ?? null, NOOP, own.url)).status, 200);
      timers.fire();
      assert.match(await polling, /^(1|6|$)|Session ID unknown/);
      await eventually('a place is free', async () => (await begin('', '', own.url)).status === 200);
      // Each is closed in its own time.
      for (const { sid } of begun)
        await eventually('it is closed', async () => (await post(sid, NOOP, own.url)).status === 400);
    } finally {
      await own.close();
    }
  });

  it('leave no connection behind when they are refused', async () => {
    const own = await startOwnChannel(world, {});
    const { hostname, port } = new URL(own.url);
    const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
    try {
      const headers = 'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n';
      socket.write(`GET /ws?token=bad HTTP/1.1\r\nHost: x\r\nSec-WebSocket-Key: x\r\n${headers}\r\n`);
      const [answer] = (await once(socket, 'data')) as [Buffer];
      assert.match(answer.toString(), /^HTTP\/1\.1 401 /);
      await eventually('the connection is closed', async () => (await own.sockets()) === 0);
    } finally {
      socket.destroy();
      await own.close();
    }
  });

  it('end when a client leaves the namespace', async () => {
    const { sid } = await begin('203.0.113.6');
    await post(sid, `${CONNECT}{"token":"${token}"}`);
    await poll(sid);
    await post(sid, LEAVE);
    await eventually('the session is closed', async () => (await post(sid, PONG)).status === 400);
  });

  it('are one attempt at a time', async () => {
    const rejected = async () => (await world.send('GET', '/health/channel')).json.dropped.token_invalid ?? 0;
    const before = await rejected();
    const { sid } = await begin('203.0.113.7');
    await post(sid, Array.from({ length: 20 }, () => `${CONNECT}{"token":"bad"}`).join('\x1e'));
    await eventually('the session is closed', async () => (await post(sid, PONG)).status === 400);
    assert.ok((await rejected()) - before <= 1);
  });
});
