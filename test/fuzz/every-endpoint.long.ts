import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import { PASSWORD } from '../support/world.ts';
import { startReceiver, type Receiver } from '../support/receiver.ts';
import { startPopulatedWorkspace, type PopulatedWorkspace } from '../web/populated-workspace.ts';
import { knownThings } from './known-things.ts';
import { fuzz, type Asker, type Fuzzing } from './schemathesis.ts';

/** `BATON_SEED` asks other things than usual; the usual ones are always the same. */
const SEED = Number(process.env['BATON_SEED'] ?? 20_260_917);
const MINUTES = 15;
/** So that limits, which have their own tests, refuse nothing here. */
const WIDE = {
  RATE_LIMIT_PER_SECOND: '1000000',
  RATE_LIMIT_BURST: '1000000',
  EVENTS_RATE_LIMIT_PER_SECOND: '1000000',
  SIGN_INS_PER_MINUTE: '1000000',
  WEBHOOKS_PER_WORKSPACE: '100000',
};
/** Operations after which nobody is signed in any more; each is tried by a session of its own. */
const ENDING = ['signOut', 'endSession', 'endOtherSessions'];
/** Operations that could take from the owner what the others need; they are tried when those have been. */
const LOWERING = ['changeMember', 'removeMember'];
/** Operations that chance does not get done, and why. */
const NEVER_DONE = new Map([
  ['POST /api/v1/session', 'nobody guesses a password'],
  ['PUT /api/v1/me/password', 'nobody guesses a password'],
  ['POST /api/v1/invitations/look-up', 'nobody guesses a token'],
  ['POST /api/v1/invitations/accept', 'nobody guesses a token'],
  ['POST /api/v1/invitations/join', 'nobody guesses a token'],
  ['GET /api/v1/openid/sign-in', 'leads to a provider, and none is configured'],
  ['GET /api/v1/openid/callback', 'comes from a provider, and none is configured'],
]);

describe('whatever is asked of an endpoint', function () {
  this.timeout(MINUTES * 60_000);
  let workspace: PopulatedWorkspace;
  let receiver: Receiver;
  let known: Fuzzing['known'];
  before(async () => {
    workspace = await startPopulatedWorkspace(WIDE);
    receiver = await startReceiver();
    known = await knownThings(workspace, receiver);
  });
  after(async () => {
    await workspace?.close();
    await receiver?.close();
  });

  type Wish = Pick<Fuzzing, 'phases' | 'examples' | 'only' | 'without'>;
  async function holds(asker: Asker, wish: Wish): Promise<void> {
    const { url } = workspace.world.api;
    const rest = { url, asker, seed: SEED, minutes: MINUTES, sendTo: receiver.url, known: known ?? {} };
    const { passed, output } = await fuzz({ ...rest, ...wish });
    assert.ok(passed, output);
    const [, asked] = /(\d+) generated/.exec(output) ?? [];
    assert.ok(Number(asked) > 0, output);
    console.log(`      ${asked} requests, seed ${SEED}`);
  }

  /** Wrong passwords were tried before, so it may be told to wait a moment. */
  async function signInAgain(): Promise<string> {
    const { world } = workspace;
    const body = { email: world.installation.admin_email, password: PASSWORD };
    for (;;) {
      const { status, headers, text } = await world.send('POST', '/api/v1/session', { key: null, body });
      const cookie = headers.get('set-cookie')?.split(';')[0];
      if (cookie !== undefined) return cookie;
      assert.equal(status, 429, text);
      await wait(Number(headers.get('retry-after')) * 1_000);
    }
  }

  it('is answered as the document says, never with 5xx: to an owner', async () => {
    const phases = ['examples', 'coverage', 'fuzzing', 'stateful'] as const;
    await holds(sessionOf(workspace.cookie), { without: [...ENDING, ...LOWERING], phases, examples: 30 });
    const { json } = await workspace.world.send('GET', '/api/v1/session', asOwner());
    assert.equal(json?.role, 'owner', 'the one who asked can not do everything any more');
  });

  it('is answered as the document says: to a key', async () => {
    const credential = workspace.world.installation.api_key;
    await holds({ scheme: 'apiKey', credential }, { without: ENDING, phases: ['fuzzing'], examples: 12 });
  });

  it('is answered as the document says: to an owner, about members', async () => {
    const phases = ['coverage', 'fuzzing'] as const;
    await holds(sessionOf(workspace.cookie), { only: LOWERING, phases, examples: 20 });
  });

  for (const operation of ENDING) {
    it(`is answered as the document says: ${operation}, which ends sessions`, async () => {
      const cookie = await signInAgain();
      await holds(sessionOf(cookie), { only: [operation], phases: ['coverage', 'fuzzing'], examples: 12 });
    });
  }

  it('got something done at every endpoint, so that more was asked than how to refuse', async () => {
    const { world } = workspace;
    const { json } = await world.send('GET', '/api/v1/openapi.json');
    const statuses = new Map<string, Set<number>>();
    for (const line of world.logged().split('\n')) {
      if (!line.includes('"msg":"request"')) continue;
      const { method, route, status } = JSON.parse(line);
      const operation = `${method} ${route}`;
      statuses.set(operation, (statuses.get(operation) ?? new Set()).add(status));
    }
    const operations = Object.entries(json.paths as Record<string, object>).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
    );
    const undone = operations.flatMap((operation) => {
      const seen = [...(statuses.get(operation) ?? [])];
      const isDone = seen.some((status) => status < 300) || NEVER_DONE.has(operation);
      return isDone ? [] : [`${operation}: only ${seen.join(', ')}`];
    });
    assert.deepEqual(undone, []);
    assert.ok(operations.length > 60, `${operations.length} operations`);
  });

  it('leaves no error behind that nobody expected', () => {
    const lines = workspace.world.logged().split('\n');
    const failed = lines.filter((line) => /^\{"level":(50|60),/.test(line));
    assert.deepEqual(failed.slice(0, 5), []);
  });

  function asOwner() {
    return workspace.world.as(workspace.cookie);
  }
});

function sessionOf(cookie: string): Asker {
  return { scheme: 'session', credential: cookie.slice(cookie.indexOf('=') + 1) };
}
