import assert from 'node:assert/strict';
import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import WebSocket from 'ws';
import { CHANNEL_CODES } from '../../src/domain/channel/channel.ts';
import { CHANNEL_MESSAGES, MAX_ROOMS } from '../../src/domain/common/limits.ts';
import { keyWith } from '../api/keys.ts';
import { assertWithin } from '../api/problems.ts';
import { addWorkspace } from '../support/people.ts';
import { useOwnWorld } from '../support/world.ts';
import { openPlain, type NotUpgraded, type PlainChannel } from '../support/plain-channel.ts';
import { eventually } from '../support/eventually.ts';
import { tokenForger } from './forged-tokens.ts';
import { quietRun } from './quiet-runs.ts';
import { WAYS, type Replied } from './ways.ts';

const TOKEN_KEY = Buffer.alloc(32, 21);
/** Small, so that a connection that is not released is noticed at once. */
const PER_TOKEN = 12;
const OVERALL = 20;
/** Of all tokens of a key. */
const PER_OWNER = 16;
const JOINS = 3_000;
const NOBODY = '00000000-0000-7000-8000-000000000000';

describe('the channel', function () {
  const world = useOwnWorld({
    environment: {
      BATON_TOKEN_KEYS: `test:${TOKEN_KEY.toString('base64')}`,
      CHANNEL_CONNECTIONS_PER_TOKEN: String(PER_TOKEN),
      CHANNEL_CONNECTIONS: String(OVERALL),
    },
  });
  let url: string;
  let token: string;
  let witnessToken: string;
  let forger: ReturnType<typeof tokenForger>;
  let witness: PlainChannel;

  const newToken = async (key?: string): Promise<string> =>
    (await world.send('POST', '/api/v1/tokens', key === undefined ? {} : { key })).json.token;
  const numbers = async () => (await world.send('GET', '/health/channel')).json;

  before(async () => {
    url = world.api.url;
    token = await newToken();
    forger = tokenForger(token, TOKEN_KEY);
    witnessToken = await newToken(await keyWith(world, ['tasks:read']));
    witness = await openPlain(url, witnessToken);
  });

  /** Checks that every test has closed its connections. */
  afterEach('count the connections', async () => {
    await eventually('only the witness is connected', async () => (await numbers()).connections === 1);
  });
  /** Checks that all connections are released and the witness still gets events. */
  const assertUndisturbed = async () => {
    const { json } = await world.submit({ metadata: { rehearsal: { steps: 1 } } });
    const id = json.execution_id as string;
    await witness.ask({ type: 'join', room: `workflow:${id}`, after: 0 });
    await eventually(
      'the witness gets the events of a run',
      () => witness.eventsOf(id).at(-1)?.type === 'run.ended',
    );
    await witness.ask({ type: 'leave', room: `workflow:${id}` });
    const free = await Promise.all(Array.from({ length: PER_TOKEN }, () => openPlain(url, token)));
    await Promise.all(free.map((channel) => channel.close()));
    await eventually('only the witness is connected', async () => (await numbers()).connections === 1);
  };
  after('check the other connections', async () => {
    try {
      await assertUndisturbed();
    } finally {
      await witness.close();
    }
  });

  let quietRooms: Promise<string[]> | null = null;
  const manyQuietRooms = () =>
    (quietRooms ??= Promise.all(Array.from({ length: MAX_ROOMS + 1 }, () => quietRoom())));

  for (const { name, open } of WAYS) {
    describe(`over ${name}`, () => {
      after('check the other connections', assertUndisturbed);

      it('rejects missing and invalid tokens', async () => {
        for (const [what, bad] of Object.entries(forger.bad)) {
          await assert.rejects(open(url, bad), { message: 'token_invalid' }, what);
        }
        await assert.rejects(open(url, forger.endingIn(-1)), { message: 'token_expired' });
      });

      it('rejects rooms without access, with the same message whether they exist or not', async () => {
        const stranger = await addWorkspace(world);
        const { json: project } = await world.send('GET', '/api/v1/me', { key: stranger });
        const foreign = await world.submit({ project_id: project.project_id }, { key: stranger });
        assert.equal(foreign.status, 201, foreign.text);
        const speaker = await open(url, token);
        for (const room of [
          `workflow:${foreign.json.execution_id}`,
          `workflow:${NOBODY}`,
          `webhook:${NOBODY}`,
        ]) {
          const { code, message, ok } = await speaker.ask('join', { room });
          assert.deepEqual({ ok, code, message }, refusalOf('forbidden'), room);
        }
        await speaker.close();
        const writer = await open(url, await newToken(await keyWith(world, ['tasks:write'])));
        const { json } = await world.submit();
        const refused = await writer.ask('join', { room: json.websocket_room });
        assert.deepEqual({ ...refused, room: null }, { ...refusalOf('forbidden'), room: null });
        await writer.close();
      });

      it('rejects invalid rooms', async () => {
        const speaker = await open(url, token);
        const upper = NOBODY.replace('7', 'A');
        for (const room of ['', 'workflow:x', upper])
          assert.equal((await speaker.ask('join', { room })).code, 'invalid_room', room);
        // test/domain/channel.test.ts has the other errors.
        const bodies = [{}, { room: ['workflow'] }, { room: `workflow:${NOBODY}`, after: -1, since: 1 }];
        for (const body of bodies) {
          const { ok, code, message } = await speaker.ask('join', body);
          assert.deepEqual(
            { ok, code },
            { ok: false, code: 'invalid_message' },
            JSON.stringify(body).slice(0, 80),
          );
          assert.ok((message ?? '').length > 10, 'the message names the fault');
        }
        assert.equal((await speaker.ask('leave', {})).code, 'invalid_message');
        assert.equal(
          (await speaker.ask('leave', { room: `workflow:${NOBODY}` })).ok,
          true,
          'a room that was never joined can be left',
        );
        await speaker.close();
      });

      it('rejects unknown messages', async () => {
        const speaker = await open(url, token);
        for (const type of ['jump', '', 'JOIN', '__proto__', 'constructor', 'toString', 'x'.repeat(1_000)]) {
          const { ok, code, message } = await speaker.ask(type, { room: `workflow:${NOBODY}` });
          assert.deepEqual({ ok, code }, { ok: false, code: 'invalid_message' }, type);
          assert.ok((message ?? '').length < 200, 'the message does not repeat a long type');
        }
        await speaker.close();
      });

      it('closes the connection at a message of 2 MB', async () => {
        const speaker = await open(url, token);
        speaker.send('join', { room: 'x'.repeat(2 * 1024 * 1024) });
        await speaker.closed;
        await speaker.close();
      });

      it(`rejects most of ${JOINS} joins at once`, async () => {
        const { json } = await world.submit();
        const speaker = await open(url, token);
        const before = (await numbers()).dropped['rate_limited'] ?? 0;
        const codes = new Map<string, number>();
        let answers = 0;
        let isClosed = false;
        const closed = speaker.closed.then((code) => {
          isClosed = true;
          return code;
        });
        for (let number = 0; number < JOINS && !isClosed; number += 1) {
          const room = number % 2 === 0 ? json.websocket_room : `workflow:${NOBODY}`;
          speaker.send('join', { room }, (reply: Replied) => {
            const outcome = reply.ok ? 'joined' : (reply.code ?? '');
            codes.set(outcome, (codes.get(outcome) ?? 0) + 1);
            answers += 1;
          });
          // Like a client on a network, it does not send everything in one tick.
          if (number % 500 === 499) await wait(1);
        }
        await eventually(
          'each join has a reply, or the connection is closed',
          () => isClosed || answers === JOINS,
        );
        if (isClosed) {
          const code = await closed;
          // A client that polls cannot get the code between two polls.
          const isBetweenPolls = code === null && name.endsWith('polling');
          assert.ok(code === 'rate_limited' || isBetweenPolls, `ended with ${code}`);
        }
        assert.ok((codes.get('rate_limited') ?? 0) > 0);
        const dropped = (await numbers()).dropped['rate_limited'] ?? 0;
        assert.ok(dropped - before <= 1, `it is ended ${dropped - before} times`);
        const granted = (codes.get('joined') ?? 0) + (codes.get('forbidden') ?? 0);
        assert.ok(granted < JOINS / 2, `${granted} were processed`);
        await speaker.close();
      });

      it('rejects more than 100 rooms', async () => {
        const rooms = await manyQuietRooms();
        const [first = '', ...others] = rooms;
        const speaker = await open(url, token);
        const joined = await Promise.all(
          rooms.slice(0, MAX_ROOMS).map((room) => speaker.ask('join', { room })),
        );
        assert.ok(joined.every(({ ok }) => ok));
        const last = others.at(-1) ?? '';
        assert.equal((await speaker.ask('join', { room: last })).code, 'too_many_rooms');
        assert.equal(
          (await speaker.ask('join', { room: first })).ok,
          true,
          'a joined room can be joined again',
        );
        await speaker.ask('leave', { room: first });
        assert.equal((await speaker.ask('join', { room: last })).ok, true);
        await speaker.close();
      });

      it('rejects messages that come too fast, and accepts later ones', async () => {
        const speaker = await open(url, token);
        const requested = CHANNEL_MESSAGES.burst + 700;
        const replies = await Promise.all(
          Array.from({ length: requested }, () => speaker.ask('leave', { room: `workflow:${NOBODY}` })),
        );
        const refused = replies.filter(({ code }) => code === 'rate_limited').length;
        assert.ok(refused > 0 && refused <= 700, `${refused} of ${requested} were refused`);
        await eventually(
          'later messages are accepted',
          async () => (await speaker.ask('leave', { room: 'any' })).ok,
        );
        await speaker.close();
      });

      it('rejects connections above the limit of a token, until one is closed', async () => {
        const connected = await Promise.all(Array.from({ length: PER_TOKEN }, () => open(url, token)));
        await assert.rejects(open(url, token), { message: 'too_many_connections' });
        const [first] = connected;
        await first?.close();
        await eventually('a connection is released', async () => (await numbers()).connections === PER_TOKEN);
        connected.push(await open(url, token));
        await assert.rejects(open(url, token), { message: 'too_many_connections' });
        await Promise.all(connected.map((speaker) => speaker.close()));
      });

      it('rejects connections above the limit of the process', async () => {
        const connected = await Promise.all([
          ...Array.from({ length: PER_TOKEN }, () => open(url, token)),
          ...Array.from({ length: OVERALL - 1 - PER_TOKEN }, () => open(url, witnessToken)),
        ]);
        await assert.rejects(open(url, token), { message: 'too_many_connections' });
        await assert.rejects(open(url, witnessToken), { message: 'too_many_connections' });
        await Promise.all(connected.map((speaker) => speaker.close()));
      });

      it('rejects connections above the limit of all tokens of a key, but not those of others', async () => {
        const connected = await Promise.all([
          ...Array.from({ length: PER_TOKEN }, () => open(url, token)),
          ...Array.from({ length: PER_OWNER - PER_TOKEN }, (_, index) =>
            open(url, forger.endingIn(600 + index)),
          ),
        ]);
        await assert.rejects(open(url, forger.endingIn(500)), { message: 'too_many_connections' });
        connected.push(await open(url, witnessToken));
        await connected.shift()?.close();
        await eventually(
          'a connection is released',
          async () => (await numbers()).connections === PER_OWNER + 1,
        );
        connected.push(await open(url, forger.endingIn(500)));
        await Promise.all(connected.map((speaker) => speaker.close()));
      });

      it('rejects a renewal with an invalid token, or one of another project, of another principal or without a needed scope', async () => {
        const speaker = await open(url, token);
        const renew = (fresh: unknown) => speaker.ask('renew', { token: fresh });
        assert.equal((await renew('x')).code, 'token_invalid');
        assert.equal((await renew(forger.bad['alg none'])).code, 'token_invalid');
        assert.equal((await renew(forger.endingIn(-1))).code, 'token_expired');
        assert.equal((await renew(await newToken(await addWorkspace(world)))).code, 'forbidden');
        assert.equal((await renew(7)).code, 'invalid_message');
        const { json } = await world.submit();
        await speaker.ask('join', { room: json.websocket_room });
        const without = await renew(forger.limitedTo('webhooks:read'));
        assert.deepEqual([without.code, without.message?.includes('tasks:read')], ['forbidden', true]);
        const from = Date.now();
        const renewed = await renew(forger.endingIn(300));
        assert.equal(renewed.ok, true);
        assertWithin(renewed['expires_at'], from, 300_000);
        await speaker.close();
      });

      it('closes the connection if the key is revoked', async () => {
        const owner = await world.signIn();
        const { json: made } = await world.send('POST', '/api/v1/keys', {
          ...world.as(owner),
          body: { name: 'short', project_id: world.installation.project_id, scopes: ['tasks:read'] },
        });
        const speaker = await open(url, await newToken(made.key));
        await world.send('DELETE', `/api/v1/keys/${made.id}`, world.as(owner));
        assert.equal(await speaker.closed, 'token_invalid');
        await speaker.close();
      });

      it('closes the connection if the session that created the token ends', async () => {
        const cookie = await world.signIn();
        const body = { project_id: world.installation.project_id };
        const { json } = await world.send('POST', '/api/v1/tokens', { ...world.as(cookie), body });
        const speaker = await open(url, json.token);
        await world.send('DELETE', '/api/v1/session', world.as(cookie));
        assert.equal(await speaker.closed, 'token_invalid');
        await speaker.close();
      });
    });
  }

  it('closes connections at the expiry of the token, unless it was renewed', async () => {
    const short = forger.endingIn(9);
    await Promise.all(
      WAYS.map(async ({ name, open }) => {
        const [ending, renewing] = await Promise.all([open(url, short), open(url, short)]);
        assert.equal((await renewing.ask('renew', { token: forger.endingIn(600) })).ok, true, name);
        assert.equal(await ending.closed, 'token_expired', name);
        assert.equal(
          (await renewing.ask('leave', { room: 'any' })).ok,
          true,
          'the renewed connection stays open',
        );
        await Promise.all([ending.close(), renewing.close()]);
      }),
    );
  });

  it('rejects a plain WebSocket with an HTTP problem response', async () => {
    const refused = async (bad: string | null): Promise<NotUpgraded> =>
      await openPlain(url, bad).then(
        () => assert.fail('connected'),
        (error: NotUpgraded) => error,
      );
    for (const [bad, code] of [
      [null, 'token_invalid'],
      ['x', 'token_invalid'],
      [forger.endingIn(-1), 'token_expired'],
    ] as const) {
      const { status, headers, body } = await refused(bad);
      assert.equal(status, 401);
      assert.equal(headers['content-type'], 'application/problem+json');
      assert.match(String(headers['www-authenticate']), /^Bearer .*error="invalid_token"/);
      assert.equal(JSON.parse(body).code, code);
      const { status: own, instance, request_id: requestId } = JSON.parse(body);
      assert.deepEqual([own, instance, requestId], [401, '/ws', headers['x-request-id']]);
    }
    const connected = await Promise.all(Array.from({ length: PER_TOKEN }, () => openPlain(url, token)));
    const { status, headers, body } = await refused(token);
    assert.equal(status, 429);
    assert.ok(Number(headers['retry-after']) > 0);
    assert.equal(JSON.parse(body).code, 'too_many_connections');
    await Promise.all(connected.map((plain) => plain.close()));
  });

  it('rejects other requests, and accepts a bearer token', async () => {
    for (const path of ['/ws', '/ws/', '/ws?token=x']) {
      const response = await fetch(`${url}${path}`);
      assert.deepEqual(
        [response.status, response.headers.get('upgrade'), response.headers.get('content-type')],
        [426, 'websocket', 'application/problem+json'],
      );
      assert.deepEqual(await response.json(), {
        title: 'Upgrade Required',
        status: 426,
        detail: 'This address accepts only WebSocket and Socket.IO.',
        instance: '/ws',
        code: 'upgrade_required',
        request_id: response.headers.get('x-request-id'),
      });
    }
    assert.equal((await fetch(`${url}/ws/other`)).status, 404);
    assert.equal((await fetch(`${url}/ws?EIO=3&transport=polling&token=${token}`)).status, 400);
    const elsewhere = new WebSocket(`${url.replace('http', 'ws')}/elsewhere?token=${token}`);
    const [error] = (await once(elsewhere, 'error')) as [Error];
    assert.match(error.message, /404/);
    const byHeader = await openPlain(url, null, { headers: { Authorization: `Bearer ${token}` } });
    assert.equal((await byHeader.ask({ type: 'leave', room: 'any' })).type, 'left');
    await byHeader.close();
  });

  it('replies to invalid messages on a plain WebSocket with an error, and stays open', async () => {
    const plain = await openPlain(url, token);
    const pieces = ['', 'nonsense', '{"type":', '[]', '7', 'null', '"join"', '{}', '{"type":7}', '\u0000'];
    for (const piece of pieces) {
      plain.say(piece);
      const { code, message } = await plain.hears('refused');
      assert.equal(code, 'invalid_message', piece);
      assert.ok(message.length > 10);
    }
    plain.say(Buffer.from('{"type":"leave","room":"any"}'));
    assert.equal((await plain.hears('refused')).code, 'invalid_message', 'binary');
    plain.say({ type: 'leave', room: 'any', id: 'x'.repeat(65) });
    assert.equal((await plain.hears('refused')).code, 'invalid_message', 'a long id');
    assert.equal((await plain.ask({ type: 'leave', room: 'any' })).type, 'left');
    await plain.close();
  });

  it('survives invalid Socket.IO packets', async () => {
    const packets = [
      '9',
      '4',
      '4x',
      '42',
      '42{',
      '42["join"',
      '42["disconnect"]',
      '45-["x"]',
      '40/admin,',
      'b4',
    ];
    for (const packet of packets) {
      const raw = await openPackets();
      raw.send(packet);
      raw.send('42["leave",{"room":"any"}]');
      await Promise.race([once(raw, 'close'), once(raw, 'message')]);
      raw.terminate();
    }
    const raw = await openPackets();
    raw.send('421[7,{}]');
    const [answer] = (await once(raw, 'message')) as [Buffer];
    raw.terminate();
    assert.match(answer.toString(), /^431.*"code":"invalid_message"/, 'an event without a name');
  });

  it('releases the places of clients that disconnect during the handshake', async () => {
    for (let number = 0; number < 3 * PER_TOKEN; number += 1) {
      const hasty = new WebSocket(socketIoAddress());
      await once(hasty, 'open');
      hasty.send('40', () => hasty.terminate());
      const plain = new WebSocket(`${url.replace('http', 'ws')}/ws?token=${token}`);
      plain.on('error', () => {});
      setTimeout(() => plain.terminate(), number % 8);
      await new Promise((resolve) => plain.on('close', resolve));
    }
  });

  /** Opens a Socket.IO connection on which a test sends raw packets. */
  async function openPackets(): Promise<WebSocket> {
    const raw = new WebSocket(socketIoAddress());
    await once(raw, 'open');
    raw.send('40');
    for (;;) {
      const [data] = (await once(raw, 'message')) as [Buffer];
      if (data.toString().startsWith('40')) return raw;
    }
  }

  function socketIoAddress(): string {
    return `${url.replace('http', 'ws')}/ws?EIO=4&transport=websocket&token=${token}`;
  }

  /** Returns the room of a run without events. */
  async function quietRoom(): Promise<string> {
    return `workflow:${await quietRun(world.database, world.installation)}`;
  }
});

function refusalOf(code: keyof typeof CHANNEL_CODES) {
  return { ok: false, code, message: CHANNEL_CODES[code] };
}
