import assert from 'node:assert/strict';
import { once } from 'node:events';
import { openChannel, type Channel, type ChannelTimes } from '../../cli/channel.ts';
import { ChannelError } from '../../cli/channel-error.ts';
import { CliError, EXIT } from '../../cli/exit-codes.ts';
import { createApi } from '../../cli/http.ts';
import { eventually } from '../support/eventually.ts';
import { type FakeChannel, startFakeChannel } from './fake-channel.ts';

const ROOM = 'workflow:0193f0a0-0000-7000-8000-000000000001';
const event = (seq: number) => ({ type: 'event', event: { seq } });

describe('the channel client of the command line', () => {
  let server: FakeChannel;
  let channel: Channel | null;
  beforeEach(async () => {
    server = await startFakeChannel();
    channel = null;
  });
  afterEach(async () => {
    channel?.close();
    await server.close();
  });

  const open = async (times: Partial<ChannelTimes> = {}) => {
    channel = await openChannel(createApi(server.url, { kind: 'key', key: 'bt_test' }), { times });
    return channel;
  };
  const fails =
    (code: ChannelError['code'], message = /./) =>
    (error: unknown) =>
      error instanceof ChannelError && error.code === code && message.test(error.message);
  const read = (from: Channel) => Array.fromAsync(from.pushed);

  it('connects with a token in a header, not in the URL', async () => {
    await open();
    assert.deepEqual(server.tokens, ['token-1']);
  });

  it('returns to each request its own response', async () => {
    const received: { id: string; n: number }[] = [];
    server.onMessage = (message, peer) => {
      received.push(message);
      for (const { id, n } of received.length < 2 ? [] : received.toReversed())
        peer.send({ type: 'left', id, n });
    };
    const { ask } = await open();
    const [first, second] = await Promise.all([
      ask('leave', { room: ROOM, n: 1 }),
      ask('leave', { room: ROOM, n: 2 }),
    ]);
    assert.deepEqual([first['n'], second['n']], [1, 2]);
  });

  it('returns pushed messages in order, including those in the packet of a response', async () => {
    server.onMessage = ({ id }, peer) => {
      peer.send({ type: 'joined', id, last_seq: 0 });
      for (const seq of [1, 2, 3]) peer.send(event(seq));
      peer.send({ type: 'closed', code: 'server_stopping', message: 'Going.' });
      peer.end(1012, 'server_stopping');
    };
    const { ask, pushed } = await open();
    assert.equal((await ask('join', { room: ROOM }))['last_seq'], 0);
    const seen: unknown[] = [];
    const reading = (async () => {
      for await (const message of pushed) seen.push(message);
    })();
    await assert.rejects(reading, fails('server_stopping', /^Going\.$/));
    assert.deepEqual(seen, [event(1), event(2), event(3)]);
  });

  it('rejects a refused request with its code, and stays open', async () => {
    server.onMessage = ({ id, room }, peer) =>
      peer.send(
        room === ROOM
          ? { type: 'left', id }
          : { type: 'refused', id, room, code: 'forbidden', message: 'Not yours.' },
      );
    const { ask } = await open();
    await assert.rejects(ask('join', { room: 'x' }), fails('forbidden', /^Not yours\.$/));
    assert.equal((await ask('leave', { room: ROOM }))['type'], 'left');
  });

  it('takes the error code from the close reason if no message has it', async () => {
    server.onMessage = (_message, peer) => peer.end(1008, 'token_expired');
    const { ask, pushed } = await open();
    await assert.rejects(ask('join', { room: ROOM }), fails('token_expired'));
    await assert.rejects(Array.fromAsync(pushed), fails('token_expired'));
    await assert.rejects(ask('join', { room: ROOM }), fails('token_expired'));
  });

  it('ends without an error if the caller closes it', async () => {
    const opened = await open();
    const reading = read(opened);
    opened.close();
    assert.deepEqual(await reading, []);
    await assert.rejects(opened.ask('join', { room: ROOM }), fails('unreachable'));
  });

  const refusals = [
    [
      401,
      JSON.stringify({ code: 'token_expired', detail: 'It has expired.' }),
      'token_expired',
      /has expired/,
    ],
    [429, JSON.stringify({ code: 'too_many_connections' }), 'too_many_connections', /limit of connections/],
    [404, '<h1>Not here</h1>', 'unreachable', /status 404/],
    [502, '"text"', 'unreachable', /status 502/],
  ] as const;
  for (const [status, body, code, message] of refusals) {
    it(`reports an upgrade that is rejected with ${status} as ${code}`, async () => {
      server.refuses = { status, body };
      await assert.rejects(open(), fails(code, message));
    });
  }

  it('reports an unreachable service with its own exit code', async () => {
    await server.close();
    await assert.rejects(open(), (error) => error instanceof CliError && error.exitCode === EXIT.unavailable);
  });

  describe('with an expiring token', () => {
    beforeEach(() => {
      server.onMessage = ({ id, type }, peer) => peer.send({ type: `${type}ed`, id });
    });

    it('renews the token repeatedly after two thirds of its time', async () => {
      server.tokenSeconds = 0.15;
      await open();
      await eventually('three renewals', () => server.messages.length >= 3);
      assert.deepEqual(
        server.messages.slice(0, 3).map(({ type, token }) => [type, token]),
        [
          ['renew', 'token-2'],
          ['renew', 'token-3'],
          ['renew', 'token-4'],
        ],
      );
    });

    it('renews the token after failures', async () => {
      await open({ renewal: 20, renewalRetry: 20 });
      server.tokenStatus = 503;
      const issued = server.issuedTokens();
      await eventually('renewals fail', () => server.issuedTokens() >= issued + 3);
      server.tokenStatus = 201;
      const before = server.messages.length;
      await eventually('two renewals', () => server.messages.length >= before + 2);
    });

    it('stops the renewals when it is closed', async () => {
      const opened = await open({ renewal: 20 });
      await eventually('a renewal', () => server.messages.length > 0);
      opened.close();
      const issued = server.issuedTokens();
      await once(AbortSignal.timeout(100), 'abort');
      assert.ok(server.issuedTokens() <= issued + 1, 'one request may have been sent');
    });
  });

  it('detects a connection that died without a close', async () => {
    server.onMessage = (_message, peer) => peer.freeze();
    const { ask, pushed } = await open({ silence: 50 });
    await assert.rejects(ask('join', { room: ROOM }), fails('unreachable', /no heartbeat/));
    await assert.rejects(Array.fromAsync(pushed), fails('unreachable'));
  });

  it('keeps a quiet connection', async () => {
    const opened = await open({ silence: 250 });
    await eventually('two pings have arrived', () => server.pings() >= 2);
    server.onMessage = ({ id }, peer) => peer.send({ type: 'left', id });
    assert.equal((await opened.ask('leave', { room: ROOM }))['type'], 'left');
  });

  it('fails without a response in time', async () => {
    // The time limit includes the upgrade, which takes some time on a busy machine.
    const { ask } = await open({ answer: 1_500 });
    await assert.rejects(ask('join', { room: ROOM }), fails('unreachable', /no response/));
  });
});
