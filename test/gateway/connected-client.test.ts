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

/** `claims`: those of the next token. `secondsBetween` pass between two messages: by default so many that the rate of messages refuses none. */
function setUp(handlers: Record<string, Handler> = {}, { secondsBetween = 10, claims = OUTSIDE } = {}) {
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
  const admission = admitted();
  const deps = {
    clock: () => new Date((seconds += secondsBetween) * 1_000),
    log: pino({ level: 'silent' }),
    rooms: { workflow: opener, webhook: opener },
    admission: { check: async () => ({ claims, holder: admission.holder }) },
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

  it('stays open if the client reads in time', async () => {
    const { client, state, answers } = await setUpUnread();
    state.drain();
    await settled();
    mock.timers.tick(CHANNEL_STALL_MS);
    assert.deepEqual([answers.map(codeOf), state.closedWith], [['ok'], []]);
    client.closed();
  });
});
