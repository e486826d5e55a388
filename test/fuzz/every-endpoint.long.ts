import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import { chosenSeed } from '../support/random.ts';
import { PASSWORD } from '../support/world.ts';
import { startReceiver, type Receiver } from '../support/receiver.ts';
import { startPopulatedWorkspace, type PopulatedWorkspace } from '../web/populated-workspace.ts';
import { knownThings } from './known-things.ts';
import { fuzz, type Caller, type Fuzzing } from './schemathesis.ts';

const MINUTES = 45;
const SEED = chosenSeed();
/** High limits, so that they reject nothing here; limits have their own tests. */
const WIDE = {
  RATE_LIMIT_PER_SECOND: '1000000',
  RATE_LIMIT_BURST: '1000000',
  EVENTS_RATE_LIMIT_PER_SECOND: '1000000',
  SIGN_INS_PER_MINUTE: '1000000',
  WEBHOOKS_PER_WORKSPACE: '100000',
};
/** Operations that end sessions; each is tested with a separate session. */
const ENDING = ['signOut', 'endSession', 'endOtherSessions'];
/** Operations that can reduce the permissions of the owner; they are tested after the others. */
const LOWERING = ['changeMember', 'removeMember'];
/** Operations that change all tasks that match; they are tested after the others, which need the tasks. */
const OF_MANY_TASKS = ['cancelTasks', 'rerunTasks'];
/**
 * Operations whose bodies have a schema for each type of event. The phase `coverage` would send thousands of requests that differ
 * in little but the type. Random requests test them instead.
 */
const OF_EVENTS = ['sendEvents', 'testWebhook', 'draftWebhookTest'];
/** Operations that do not succeed with random requests, and why. */
const NEVER_SUCCESSFUL = new Map([
  ['POST /api/v1/session', 'requires a valid password'],
  ['PUT /api/v1/me/password', 'requires a valid password'],
  ['POST /api/v1/invitations/look-up', 'requires a valid token'],
  ['POST /api/v1/invitations/accept', 'requires a valid token'],
  ['POST /api/v1/invitations/join', 'requires a valid token'],
  ['GET /api/v1/openid/sign-in', 'requires a provider, and none is configured'],
  ['GET /api/v1/openid/callback', 'requires a provider, and none is configured'],
]);
/**
 * Messages of Temporal's SDK about a race of its own (docs/operations.md): a workflow task arrives while its response to the one
 * before is still being sent.
 */
const OF_THE_SDK = new Set(['Trying to send a new WFT for a run which already has one!']);

describe('random requests to every endpoint', function () {
  this.timeout(MINUTES * 60_000);
  let workspace: PopulatedWorkspace;
  let receiver: Receiver;
  let known: Fuzzing['known'];
  /** Requests that were repeated, because a dependency was late. */
  const repeated = new Set<string>();
  before(async () => {
    workspace = await startPopulatedWorkspace(WIDE);
    receiver = await startReceiver();
    known = await knownThings(workspace, receiver);
  });
  after(async () => {
    await workspace?.close();
    await receiver?.close();
  });

  type Selection = Pick<Fuzzing, 'phases' | 'notCovered' | 'examples' | 'only' | 'without'>;
  async function holds(caller: Caller, selection: Selection): Promise<void> {
    const { url } = workspace.world.api;
    const rest = { url, caller, seed: SEED, minutes: MINUTES, sendTo: receiver.url, known: known ?? {} };
    const { passed, output, repeated: ids } = await fuzz({ ...rest, ...selection });
    for (const id of ids) repeated.add(id);
    assert.ok(passed, output);
    const [, asked] = /(\d+) generated/.exec(output) ?? [];
    assert.ok(Number(asked) > 0, output);
    console.log(`      ${asked} requests, seed ${SEED}`);
  }

  /** Signs in, and waits if there were too many wrong passwords before. */
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

  it('receive only documented responses, and no 5xx: from an owner', async () => {
    const phases = ['examples', 'coverage', 'fuzzing', 'stateful'] as const;
    const without = [...ENDING, ...LOWERING, ...OF_MANY_TASKS];
    await holds(sessionOf(workspace.cookie), { without, phases, notCovered: OF_EVENTS, examples: 12 });
    const { json } = await workspace.world.send('GET', '/api/v1/session', asOwner());
    assert.equal(json?.role, 'owner', 'the owner has lost the role');
  });

  it('receive only documented responses: from an owner, with an event', async () => {
    await holds(sessionOf(workspace.cookie), { only: OF_EVENTS, phases: ['fuzzing'], examples: 150 });
  });

  it('receive only documented responses: from an API key', async () => {
    const credential = workspace.world.installation.api_key;
    const without = [...ENDING, ...OF_MANY_TASKS];
    await holds({ scheme: 'apiKey', credential }, { without, phases: ['fuzzing'], examples: 12 });
  });

  it('receive only documented responses: from an owner, about many tasks', async () => {
    const phases = ['examples', 'coverage', 'fuzzing'] as const;
    await holds(sessionOf(workspace.cookie), { only: OF_MANY_TASKS, phases, examples: 12 });
  });

  it('receive only documented responses: from an owner, about members', async () => {
    const phases = ['coverage', 'fuzzing'] as const;
    await holds(sessionOf(workspace.cookie), { only: LOWERING, phases, examples: 20 });
  });

  for (const operation of ENDING) {
    it(`receive only documented responses: ${operation}, which ends sessions`, async () => {
      const cookie = await signInAgain();
      await holds(sessionOf(cookie), { only: [operation], phases: ['coverage', 'fuzzing'], examples: 12 });
    });
  }

  it('succeed at least once for every operation', async () => {
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
    const unsuccessful = operations.flatMap((operation) => {
      const seen = [...(statuses.get(operation) ?? [])];
      const isSuccessful = seen.some((status) => status < 300) || NEVER_SUCCESSFUL.has(operation);
      return isSuccessful ? [] : [`${operation}: only ${seen.join(', ')}`];
    });
    assert.deepEqual(unsuccessful, []);
    assert.ok(operations.length > 60, `${operations.length} operations`);
  });

  it('cause no error in the log', () => {
    const errors = workspace.world
      .logged()
      .split('\n')
      .filter((line) => /^\{"level":(50|60),/.test(line))
      .map((line) => JSON.parse(line));
    const failed = errors.filter(
      ({ request_id: id, sdkComponent, msg }) =>
        !repeated.has(id) && !(sdkComponent === 'core' && OF_THE_SDK.has(msg)),
    );
    assert.deepEqual(failed.slice(0, 5), []);
  });

  function asOwner() {
    return workspace.world.as(workspace.cookie);
  }
});

function sessionOf(cookie: string): Caller {
  return { scheme: 'session', credential: cookie.slice(cookie.indexOf('=') + 1) };
}
