import assert from 'node:assert/strict';
import { mock } from 'node:test';
import { pino } from 'pino';
import {
  CHANNEL_MESSAGES,
  CHANNEL_PENDING_BYTES,
  CHANNEL_STALL_MS,
  MAX_ROOMS,
  MAX_WAITING_MESSAGES,
} from '../../src/domain/common/limits.ts';
import { CHANNEL_CODES } from '../../src/domain/channel/channel.ts';
import type { TokenClaims } from '../../src/domain/people/access.ts';
import { shortened } from '../../src/gateway/client-messages.ts';
import type { Handled, Handler } from '../../src/gateway/handlers.ts';
import type { OpenRoom } from '../../src/gateway/rooms.ts';
import {
  ConnectedClient,
  type MessageResult,
  type ClientDependencies,
} from '../../src/gateway/connected-client.ts';
import { admitted } from './admitted.ts';

const OUTSIDE: TokenClaims = admitted().claims;

/** `first`: the claims of the first token, `claims`: those of the next one, `holder`: how its holder differs. `secondsBetween` pass between two messages: by default so many that the rate of messages refuses none. */
function setUp(
  handlers: Record<string, Handler> = {},
  { secondsBetween = 10, first = OUTSIDE, claims = OUTSIDE, holder = {}, onRelease = () => {} } = {},
) {
  let seconds = 0;
  const state = {
    pending: 0,
    closedWith: [] as string[],
    /** The rooms whose events the client gets. */
    followed: [] as string[],
    /** Each join waits for it. */
    beforeOpen: Promise.resolve(),
    drain: (): void => assert.fail('nobody waits'),
  };
  const opener = {
    async open(_holder: unknown, id: string): Promise<OpenRoom> {
      await state.beforeOpen;
      const follow = () => {
        state.followed.push(id);
        return () => void state.followed.splice(state.followed.indexOf(id), 1);
      };
      return { snapshot: {}, last_seq: 0, follow };
    },
  };
  const admission = { ...admitted(onRelease), claims: first };
  const deps = {
    clock: () => new Date((seconds += secondsBetween) * 1_000),
    log: pino({ level: 'silent' }),
    rooms: { workflow: opener, webhook: opener },
    admission: { check: async () => ({ claims, holder: { ...admission.holder, ...holder } }) },
    handlers,
  } as unknown as ClientDependencies;
  const connection = {
    id: 'one',
    send: () => {},
    pendingBytes: () => state.pending,
    onceDrained(listener: () => void) {
      state.drain = () => {
        state.pending = 0;
        listener();
      };
    },
    close: (code: string) => void state.closedWith.push(code),
  };
  const client = new ConnectedClient(deps, connection, admission);
  client.recheck = async () => admission.holder;
  const answers: MessageResult[] = [];
  const ask = (type: string, body: object = {}) =>
    new Promise<MessageResult>((resolve) =>
      client.receive(type, body, (answer) => {
        answers.push(answer);
        resolve(answer);
      }),
    );
  return { client, state, answers, ask };
}

/** Returns the name of a room. */
const room = (number: number) => `workflow:01890000-0000-7000-8000-${String(number).padStart(12, '0')}`;
const codeOf = ({ reply }: MessageResult) => (reply.ok ? 'ok' : reply.code);

describe('a text of a client in a reply', () => {
  it('is not cut within a character', () => assert.equal(shortened('ab😀', 3), 'ab'));
});

describe('the messages of a connection', () => {
  /** Returns a handler whose messages wait for `gate`. */
  const waitingFor = (gate: Promise<Handled>): Handler => ({ replyType: 'worked', read: () => () => gate });

  it('wait for the previous ones, up to a limit', async () => {
    const gate = Promise.withResolvers<Handled>();
    const { client, state, answers, ask } = setUp({ work: waitingFor(gate.promise) });
    const all = Array.from({ length: MAX_WAITING_MESSAGES + 2 }, () => ask('work'));
    assert.deepEqual(answers.map(codeOf), ['rate_limited', 'rate_limited']);
    gate.resolve({ reply: { ok: true } });
    await Promise.all(all);
    await ask('work');
    assert.deepEqual(new Set(answers.slice(2).map(({ replyType }) => replyType)), new Set(['worked']));
    assert.deepEqual(state.closedWith, []);
    client.closed();
  });

  it('close it after 1,000 refused ones in a row', async () => {
    let gate = Promise.withResolvers<Handled>();
    const { client, state, ask } = setUp({ work: { replyType: 'worked', read: () => () => gate.promise } });
    const fill = () => Array.from({ length: MAX_WAITING_MESSAGES }, () => ask('work'));
    const refused = async (count: number) => {
      for (let sent = 0; sent < count; sent += 1) assert.equal(codeOf(await ask('work')), 'rate_limited');
    };
    const waiting = fill();
    await refused(1_000);
    gate.resolve({ reply: { ok: true } });
    await Promise.all(waiting);
    gate = Promise.withResolvers<Handled>();
    const more = fill();
    await refused(1_000);
    assert.deepEqual(state.closedWith, []);
    void ask('work');
    assert.deepEqual(state.closedWith, ['rate_limited']);
    gate.resolve({ reply: { ok: true } });
    await Promise.all(more);
    client.closed();
  });

  it('are answered with an error if their handling fails, and the next ones are handled', async () => {
    const fail = () => {
      throw new Error('the database is unavailable');
    };
    const { client, ask } = setUp({
      read: { replyType: 'worked', read: fail },
      work: { replyType: 'worked', read: () => async () => fail() },
      next: { replyType: 'worked', read: () => async () => ({ reply: { ok: true } }) },
    });
    const codes = (await Promise.all(['read', 'work', 'next'].map((type) => ask(type)))).map(codeOf);
    assert.deepEqual(codes, ['unavailable', 'unavailable', 'ok']);
    client.closed();
  });

  it('do not count against its rate if the service asked for them and they are valid', async () => {
    const { client, ask } = setUp(
      {
        solicited: {
          replyType: 'answered',
          isSolicited: true,
          read:
            (_client, { isValid }) =>
            async () => ({
              reply: isValid
                ? { ok: true }
                : { ok: false, code: 'invalid_message', message: 'It is unknown.', room: null },
            }),
        },
      },
      { secondsBetween: 0 },
    );
    for (let sent = 0; sent < 2 * CHANNEL_MESSAGES.burst; sent += 1)
      assert.equal(codeOf(await ask('solicited', { isValid: true })), 'ok');
    for (let sent = 0; sent < CHANNEL_MESSAGES.burst; sent += 1)
      assert.equal(codeOf(await ask('solicited', { isValid: false })), 'invalid_message');
    assert.equal(codeOf(await ask('solicited', { isValid: true })), 'rate_limited');
    client.closed();
  });
});

describe('the token of a connection', () => {
  it('is the renewed one: the connection depends on the session of that token', async () => {
    const [person, session] = [
      '01890000-0000-7000-8000-00000000000a',
      '01890000-0000-7000-8000-00000000000b',
    ];
    const claims: TokenClaims = {
      origin: 'own',
      subject: `user:${person}`,
      workspaceId: 'w',
      projectId: 'p',
      scopes: [],
      sessionId: session,
      expiresAt: OUTSIDE.expiresAt,
    };
    const { client, ask } = setUp({}, { claims });
    assert.ok(!client.dependsOn(session));
    assert.equal(codeOf(await ask('renew', { token: 'next' })), 'ok');
    assert.ok(client.dependsOn(session));
    assert.ok(client.dependsOn(person));
    client.closed();
  });
});

describe('the next token of a connection', () => {
  for (const [whose, holder] of [
    ['of another user of the project', { actor: 'user:other' }],
    ['of the same user for another project', { projectId: 'other' }],
  ] as const) {
    it(`is refused if it is that ${whose}`, async () => {
      const { client, ask } = setUp({}, { holder });
      const { reply } = await ask('renew', { token: 'next' });
      assert.deepEqual(reply, {
        ok: false,
        code: 'forbidden',
        message: 'The token is for another project or another user.',
        room: null,
      });
      client.closed();
    });
  }
});

describe('a refused message of a connection', () => {
  it('has the code, a description and the room', async () => {
    const { client, state, ask } = setUp({ work: { replyType: 'worked', read: () => ({ ok: true }) } });
    const refused = (code: keyof typeof CHANNEL_CODES, name: string | null, message?: string) => ({
      replyType: 'refused',
      reply: { ok: false, code, message: message ?? CHANNEL_CODES[code], room: name },
    });
    const { message: error } = (await ask('join', { room: room(1), more: 1 })).reply as { message: string };
    assert.match(error, /^join: .*more/);
    for (const [type, body, expected] of [
      ['join', { room: room(1), more: 1 }, refused('invalid_message', room(1), error)],
      ['leave', { room: room(1), more: 1 }, refused('invalid_message', room(1), `leave${error.slice(4)}`)],
      [
        'renew',
        { token: 't', room: room(1) },
        refused('invalid_message', null, 'renew: Unrecognized key: "room".'),
      ],
      ['join', { room: 'workflow:x' }, refused('invalid_room', 'workflow:x')],
      ['jump', { room: room(1) }, refused('invalid_message', null, 'Unknown message type: "jump".')],
      [
        '',
        { room: room(1) },
        refused('invalid_message', null, 'A message must be a JSON object with a `type`, sent as text.'),
      ],
      ['work', [], refused('invalid_message', null, 'work requires an object.')],
    ] as const)
      assert.deepEqual(await ask(type, body), expected, type);
    state.beforeOpen = Promise.reject(new Error('the database is unavailable'));
    assert.deepEqual(await ask('join', { room: room(1) }), refused('unavailable', room(1)));
    client.recheck = async () => null;
    assert.deepEqual(await ask('join', { room: room(1) }), refused('token_invalid', room(1)));
    client.closed();
  });

  it('is followed by no reply after the connection was closed, which frees its place once', async () => {
    let released = 0;
    const { client, answers, ask } = setUp({}, { onRelease: () => void (released += 1) });
    client.closed();
    client.closed();
    void ask('join', { room: room(1) });
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual([answers, released], [[], 1]);
  });
});

describe('the expiry of a connection', () => {
  beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }));
  afterEach(() => mock.timers.reset());

  /** Returns the claims of a token that ends so many milliseconds after 1970. */
  const endingAt = (ms: number): TokenClaims => ({ ...OUTSIDE, expiresAt: new Date(ms) });

  it('is that of its token, and of the next one once it was renewed', async () => {
    const { client, state, ask } = setUp(
      {},
      { secondsBetween: 0, first: endingAt(1_000), claims: endingAt(5_000) },
    );
    mock.timers.tick(999);
    assert.deepEqual(state.closedWith, []);
    const { replyType, reply } = await ask('renew', { token: 'next' });
    assert.deepEqual([replyType, reply], ['renewed', { ok: true, expires_at: '1970-01-01T00:00:05.000Z' }]);
    mock.timers.tick(4_999);
    assert.deepEqual(state.closedWith, []);
    mock.timers.tick(1);
    assert.deepEqual(state.closedWith, ['token_expired']);
    client.closed();
  });

  it('may be further away than a timer can wait, and does not come after the close', () => {
    const far = 2_147_483_647 + 1_000;
    const { client, state } = setUp({}, { secondsBetween: 0, first: endingAt(far) });
    mock.timers.tick(2_147_483_647);
    assert.deepEqual(state.closedWith, []);
    client.closed();
    mock.timers.tick(far);
    assert.deepEqual(state.closedWith, []);
  });
});

describe('the rooms of a connection', () => {
  it('are limited, but one of them can be joined again, and a new one after another was left', async () => {
    const { client, state, ask } = setUp();
    for (let number = 1; number <= MAX_ROOMS; number += 1) await ask('join', { room: room(number) });
    assert.equal(state.followed.length, MAX_ROOMS);
    assert.equal(codeOf(await ask('join', { room: room(MAX_ROOMS + 1) })), 'too_many_rooms');
    assert.equal(codeOf(await ask('join', { room: room(1) })), 'ok');
    await ask('leave', { room: room(1) });
    assert.equal(codeOf(await ask('join', { room: room(MAX_ROOMS + 1) })), 'ok');
    assert.equal(state.followed.length, MAX_ROOMS);
    client.closed();
  });

  it('are left when it closes', async () => {
    const { client, state, ask } = setUp();
    await ask('join', { room: room(1) });
    await ask('join', { room: room(2) });
    client.closed();
    assert.deepEqual(state.followed, []);
  });

  it('are not joined if it closes during the join', async () => {
    const { client, state, answers, ask } = setUp();
    const opening = Promise.withResolvers<void>();
    state.beforeOpen = opening.promise;
    void ask('join', { room: room(1) });
    await new Promise((resolve) => setImmediate(resolve));
    client.closed();
    opening.resolve();
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual([state.followed, answers], [[], []]);
  });
});

describe('a connection whose client does not read the replies', () => {
  beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }));
  afterEach(() => mock.timers.reset());

  const settled = () => new Promise((resolve) => setImmediate(resolve));
  const setUpUnread = async () => {
    const works: Handler = { replyType: 'worked', read: () => async () => ({ reply: { ok: true } }) };
    const one = setUp({ work: works });
    one.state.pending = CHANNEL_PENDING_BYTES + 1;
    void one.ask('work');
    await settled();
    assert.deepEqual(one.answers, []);
    return one;
  };

  it('is closed after a time', async () => {
    const { client, state } = await setUpUnread();
    mock.timers.tick(CHANNEL_STALL_MS - 1);
    assert.deepEqual(state.closedWith, []);
    mock.timers.tick(1);
    assert.deepEqual(state.closedWith, ['slow_reader']);
    client.closed();
  });

  it('waits only while more than its buffer is unread', async () => {
    const { client, state, answers } = await setUpUnread();
    state.drain();
    await settled();
    state.pending = CHANNEL_PENDING_BYTES;
    client.receive('work', {}, (answer) => void answers.push(answer));
    await settled();
    assert.deepEqual(answers.map(codeOf), ['ok', 'ok']);
    client.closed();
  });

  it('stays open if the client reads in time', async () => {
    const { client, state, answers } = await setUpUnread();
    state.drain();
    await settled();
    mock.timers.tick(CHANNEL_STALL_MS);
    assert.deepEqual([answers.map(codeOf), state.closedWith], [['ok'], []]);
    client.closed();
  });
});
