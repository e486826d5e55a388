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

describe("the command line's end of the live channel", () => {
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

  it('comes with a token in a header, not in the address', async () => {
    await open();
    assert.deepEqual(server.tokens, ['token-1']);
  });

  it('gives each question its own answer', async () => {
    const asked: { id: string; n: number }[] = [];
    server.onMessage = (message, peer) => {
      asked.push(message);
      for (const { id, n } of asked.length < 2 ? [] : asked.toReversed()) peer.say({ type: 'left', id, n });
    };
    const { ask } = await open();
    const [first, second] = await Promise.all([
      ask('leave', { room: ROOM, n: 1 }),
      ask('leave', { room: ROOM, n: 2 }),
    ]);
    assert.deepEqual([first['n'], second['n']], [1, 2]);
  });

  it('gives what is pushed in order, what comes in one packet with an answer included', async () => {
    server.onMessage = ({ id }, peer) => {
      peer.say({ type: 'joined', id, last_seq: 0 });
      for (const seq of [1, 2, 3]) peer.say(event(seq));
      peer.say({ type: 'closed', code: 'server_stopping', message: 'Going.' });
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

  it('tells a refusal by its code, and goes on', async () => {
    server.onMessage = ({ id, room }, peer) =>
      peer.say(
        room === ROOM
          ? { type: 'left', id }
          : { type: 'refused', id, room, code: 'forbidden', message: 'Not yours.' },
      );
    const { ask } = await open();
    await assert.rejects(ask('join', { room: 'x' }), fails('forbidden', /^Not yours\.$/));
    assert.equal((await ask('leave', { room: ROOM }))['type'], 'left');
  });

  it('knows the end by the reason of the close where nothing else was said', async () => {
    server.onMessage = (_message, peer) => peer.end(1008, 'token_expired');
    const { ask, pushed } = await open();
    await assert.rejects(ask('join', { room: ROOM }), fails('token_expired'));
    await assert.rejects(Array.fromAsync(pushed), fails('token_expired'));
    await assert.rejects(ask('join', { room: ROOM }), fails('token_expired'));
  });

  it('ends quietly when it is closed here', async () => {
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
    it(`tells an upgrade that is refused with ${status} as ${code}`, async () => {
      server.refuses = { status, body };
      await assert.rejects(open(), fails(code, message));
    });
  }

  it('tells a service that is out of reach from a channel that is', async () => {
    await server.close();
    await assert.rejects(open(), (error) => error instanceof CliError && error.exitCode === EXIT.unavailable);
  });

  describe('its token', () => {
    beforeEach(() => {
      server.onMessage = ({ id, type }, peer) => peer.say({ type: `${type}ed`, id });
    });

    it('is renewed again and again when two thirds of its time are over', async () => {
      server.tokenSeconds = 0.15;
      await open();
      await eventually('three renewals', () => server.said.length >= 3);
      assert.deepEqual(
        server.said.slice(0, 3).map(({ type, token }) => [type, token]),
        [
          ['renew', 'token-2'],
          ['renew', 'token-3'],
          ['renew', 'token-4'],
        ],
      );
    });

    it('is not renewed any more once the channel is closed', async () => {
      const opened = await open({ renewal: 20 });
      await eventually('a renewal', () => server.said.length > 0);
      opened.close();
      const made = server.tokensMade();
      await once(AbortSignal.timeout(100), 'abort');
      assert.ok(server.tokensMade() <= made + 1, 'one may have been on its way');
    });
  });

  it('notices a connection that died without a word', async () => {
    server.onMessage = (_message, peer) => peer.freeze();
    const { ask, pushed } = await open({ silence: 50 });
    await assert.rejects(ask('join', { room: ROOM }), fails('unreachable', /no sign of life/));
    await assert.rejects(Array.fromAsync(pushed), fails('unreachable'));
  });

  it('keeps a quiet connection that lives', async () => {
    const opened = await open({ silence: 250 });
    await eventually('it is asked for signs of life', () => server.pings() >= 2);
    server.onMessage = ({ id }, peer) => peer.say({ type: 'left', id });
    assert.equal((await opened.ask('leave', { room: ROOM }))['type'], 'left');
  });

  it('gives up on an answer that does not come', async () => {
    // The upgrade has the same limit, and a busy machine needs some time for it.
    const { ask } = await open({ answer: 1_500 });
    await assert.rejects(ask('join', { room: ROOM }), fails('unreachable', /no response/));
  });
});
