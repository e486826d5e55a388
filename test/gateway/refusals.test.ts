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
/** Small, so that a place that is not given back is missed at once. */
const PER_TOKEN = 12;
const OVERALL = 20;
const JOINS = 3_000;
const NOBODY = '00000000-0000-7000-8000-000000000000';

describe('the channel refuses', function () {
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

  /** Whatever was tried: nobody is left behind. */
  afterEach('the witness is alone', async () => {
    await eventually('the witness is alone', async () => (await numbers()).connections === 1);
  });
  /** All places are free again, and others are not disturbed. */
  const assertUndisturbed = async () => {
    const { json } = await world.submit({ metadata: { rehearsal: { steps: 1 } } });
    const id = json.execution_id as string;
    await witness.ask({ type: 'join', room: `workflow:${id}`, after: 0 });
    await eventually('the witness sees a run', () => witness.eventsOf(id).at(-1)?.type === 'run.ended');
    await witness.ask({ type: 'leave', room: `workflow:${id}` });
    const free = await Promise.all(Array.from({ length: PER_TOKEN }, () => openPlain(url, token)));
    await Promise.all(free.map((one) => one.close()));
    await eventually('the witness is alone again', async () => (await numbers()).connections === 1);
  };
  after('the gateway goes on', async () => {
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
    describe(`by ${name}`, () => {
      after('the gateway goes on', assertUndisturbed);

      it('whoever has no good token', async () => {
        for (const [what, bad] of Object.entries(forger.bad)) {
          await assert.rejects(open(url, bad), { message: 'token_invalid' }, what);
        }
        await assert.rejects(open(url, forger.endingIn(-1)), { message: 'token_expired' });
      });

      it('rooms that are not open, the same whether they exist or not', async () => {
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
        const blind = await open(url, await newToken(await keyWith(world, ['tasks:write'])));
        const { json } = await world.submit();
        const refused = await blind.ask('join', { room: json.websocket_room });
        assert.deepEqual({ ...refused, room: null }, { ...refusalOf('forbidden'), room: null });
        await blind.close();
      });

      it('rooms that are none', async () => {
        const speaker = await open(url, token);
        const upper = NOBODY.replace('7', 'A');
        for (const room of [
          '',
          'workflow',
          'workflow:',
          'workflow:x',
          `run:${NOBODY}`,
          `workflow:${NOBODY} `,
          upper,
        ]) {
          assert.equal((await speaker.ask('join', { room })).code, 'invalid_room', room);
        }
        const bodies = [
          {},
          { room: 7 },
          { room: null },
          { room: ['workflow'] },
          { room: 'x'.repeat(5_000) },
          { room: `workflow:${NOBODY}`, after: -1 },
          { room: `workflow:${NOBODY}`, after: 1.5 },
          { room: `workflow:${NOBODY}`, after: '1' },
          { room: `workflow:${NOBODY}`, after: 2 ** 53 },
          { room: `workflow:${NOBODY}`, since: 1 },
        ];
        for (const body of bodies) {
          const { ok, code, message } = await speaker.ask('join', body);
          assert.deepEqual(
            { ok, code },
            { ok: false, code: 'invalid_message' },
            JSON.stringify(body).slice(0, 80),
          );
          assert.ok((message ?? '').length > 10, 'and says what is wrong');
        }
        assert.equal((await speaker.ask('leave', {})).code, 'invalid_message');
        assert.equal(
          (await speaker.ask('leave', { room: `workflow:${NOBODY}` })).ok,
          true,
          'never in is as good as left',
        );
        await speaker.close();
      });

      it('messages that it does not know', async () => {
        const speaker = await open(url, token);
        for (const type of ['jump', '', 'JOIN', '__proto__', 'constructor', 'toString', 'x'.repeat(1_000)]) {
          const { ok, code, message } = await speaker.ask(type, { room: `workflow:${NOBODY}` });
          assert.deepEqual({ ok, code }, { ok: false, code: 'invalid_message' }, type);
          assert.ok((message ?? '').length < 200, 'and does not repeat it at length');
        }
        await speaker.close();
      });

      it('a message of 2 MB', async () => {
        const speaker = await open(url, token);
        speaker.tell('join', { room: 'x'.repeat(2 * 1024 * 1024) });
        await speaker.closed;
        await speaker.close();
      });

      it(`the most of ${JOINS} joins at once`, async () => {
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
          speaker.tell('join', { room }, (reply: Replied) => {
            const outcome = reply.ok ? 'joined' : (reply.code ?? '');
            codes.set(outcome, (codes.get(outcome) ?? 0) + 1);
            answers += 1;
          });
          // As a client on a network would: not in one breath.
          if (number % 500 === 499) await wait(1);
        }
        await eventually('each is answered, or that is the end of it', () => isClosed || answers === JOINS);
        if (isClosed) {
          const code = await closed;
          // Who polls may be in between two polls when it is ended.
          const isUntold = code === null && name.endsWith('polling');
          assert.ok(code === 'rate_limited' || isUntold, `ended with ${code}`);
        }
        assert.ok((codes.get('rate_limited') ?? 0) > 0);
        const told = (await numbers()).dropped['rate_limited'] ?? 0;
        assert.ok(told - before <= 1, `it is ended ${told - before} times`);
        const granted = (codes.get('joined') ?? 0) + (codes.get('forbidden') ?? 0);
        assert.ok(granted < JOINS / 2, `${granted} were processed`);
        await speaker.close();
      });

      it('more than 100 rooms', async () => {
        const rooms = await manyQuietRooms();
        const [first = '', ...others] = rooms;
        const speaker = await open(url, token);
        const joined = await Promise.all(
          rooms.slice(0, MAX_ROOMS).map((room) => speaker.ask('join', { room })),
        );
        assert.ok(joined.every(({ ok }) => ok));
        const last = others.at(-1) ?? '';
        assert.equal((await speaker.ask('join', { room: last })).code, 'too_many_rooms');
        assert.equal((await speaker.ask('join', { room: first })).ok, true, 'who is in may join again');
        await speaker.ask('leave', { room: first });
        assert.equal((await speaker.ask('join', { room: last })).ok, true);
        await speaker.close();
      });

      it('messages that come too fast, for a moment', async () => {
        const speaker = await open(url, token);
        const wanted = CHANNEL_MESSAGES.burst + 700;
        const replies = await Promise.all(
          Array.from({ length: wanted }, () => speaker.ask('leave', { room: `workflow:${NOBODY}` })),
        );
        const refused = replies.filter(({ code }) => code === 'rate_limited').length;
        assert.ok(refused > 0 && refused <= 700, `${refused} of ${wanted} were refused`);
        await eventually('it goes on', async () => (await speaker.ask('leave', { room: 'any' })).ok);
        await speaker.close();
      });

      it('more connections than a token may have, until one is over', async () => {
        const inside = await Promise.all(Array.from({ length: PER_TOKEN }, () => open(url, token)));
        await assert.rejects(open(url, token), { message: 'too_many_connections' });
        const [first] = inside;
        await first?.close();
        await eventually('there is a place', async () => (await numbers()).connections === PER_TOKEN);
        inside.push(await open(url, token));
        await assert.rejects(open(url, token), { message: 'too_many_connections' });
        await Promise.all(inside.map((one) => one.close()));
      });

      it('more connections than the process may have', async () => {
        const other = await newToken();
        const inside = await Promise.all([
          ...Array.from({ length: PER_TOKEN }, () => open(url, token)),
          ...Array.from({ length: OVERALL - 1 - PER_TOKEN }, () => open(url, forger.endingIn(600))),
        ]);
        await assert.rejects(open(url, other), { message: 'too_many_connections' });
        await Promise.all(inside.map((one) => one.close()));
      });

      it('to be renewed by a token that is bad, of another project or of somebody else', async () => {
        const speaker = await open(url, token);
        const renew = (fresh: unknown) => speaker.ask('renew', { token: fresh });
        assert.equal((await renew('x')).code, 'token_invalid');
        assert.equal((await renew(forger.bad['alg none'])).code, 'token_invalid');
        assert.equal((await renew(forger.endingIn(-1))).code, 'token_expired');
        assert.equal((await renew(await newToken(await addWorkspace(world)))).code, 'forbidden');
        assert.equal((await renew(7)).code, 'invalid_message');
        const from = Date.now();
        const renewed = await renew(forger.endingIn(300));
        assert.equal(renewed.ok, true);
        assertWithin(renewed['expires_at'], from, 300_000);
        await speaker.close();
      });

      it('to go on when the key is revoked', async () => {
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
    });
  }

  it('to go on when the token expires, unless it was renewed, each way', async () => {
    const short = forger.endingIn(4);
    await Promise.all(
      WAYS.map(async ({ name, open }) => {
        const [ending, renewing] = await Promise.all([open(url, short), open(url, short)]);
        assert.equal((await renewing.ask('renew', { token: forger.endingIn(600) })).ok, true, name);
        assert.equal(await ending.closed, 'token_expired', name);
        assert.equal((await renewing.ask('leave', { room: 'any' })).ok, true, 'the renewed one lives on');
        await Promise.all([ending.close(), renewing.close()]);
      }),
    );
  });

  it('by HTTP, in its words, where a plain WebSocket is not let in', async () => {
    const refused = async (bad: string | null): Promise<NotUpgraded> =>
      await openPlain(url, bad).then(
        () => assert.fail('let in'),
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
      assert.equal(JSON.parse(body).status, 401);
    }
    const inside = await Promise.all(Array.from({ length: PER_TOKEN }, () => openPlain(url, token)));
    const { status, headers, body } = await refused(token);
    assert.equal(status, 429);
    assert.ok(Number(headers['retry-after']) > 0);
    assert.equal(JSON.parse(body).code, 'too_many_connections');
    await Promise.all(inside.map((one) => one.close()));
  });

  it('what is no WebSocket, and takes a token as a bearer', async () => {
    assert.equal((await fetch(`${url}/ws`)).status, 426);
    assert.equal((await fetch(`${url}/ws?EIO=3&transport=polling&token=${token}`)).status, 400);
    const elsewhere = new WebSocket(`${url.replace('http', 'ws')}/elsewhere?token=${token}`);
    const [error] = (await once(elsewhere, 'error')) as [Error];
    assert.match(error.message, /404/);
    const byHeader = await openPlain(url, null, { headers: { Authorization: `Bearer ${token}` } });
    assert.equal((await byHeader.ask({ type: 'leave', room: 'any' })).type, 'left');
    await byHeader.close();
  });

  it('nonsense on a plain WebSocket, each piece with a word, and goes on', async () => {
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

  it('nonsense in the packets of Socket.IO', async () => {
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

  it('no one a place that was meant for somebody who left before being let in', async () => {
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

  /** A connection of Socket.IO, of which a test writes the packets itself. */
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

  /** The room of a run in which nothing happens. */
  async function quietRoom(): Promise<string> {
    return `workflow:${await quietRun(world.database, world.installation)}`;
  }
});

function refusalOf(code: keyof typeof CHANNEL_CODES) {
  return { ok: false, code, message: CHANNEL_CODES[code] };
}
