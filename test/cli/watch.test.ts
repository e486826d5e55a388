import assert from 'node:assert/strict';
import { openChannel } from '../../cli/channel.ts';
import { ChannelError } from '../../cli/channel-error.ts';
import { type Api, createApi } from '../../cli/http.ts';
import { TOKEN_SECONDS } from '../../src/domain/common/limits.ts';
import { createTokens } from '../../src/security/tokens.ts';
import { PASSWORD, useOwnWorld, type World } from '../support/world.ts';
import { type Cli, cliWith } from './cli-process.ts';
import { eventsIn, assertWhole } from './watched.ts';

describe('baton task watch', () => {
  const world = useOwnWorld();
  let cli: Cli;
  beforeEach(() => {
    cli = cliWith({ BATON_URL: world.api.url, BATON_API_KEY: world.installation.api_key });
  });
  afterEach(() => cli.cleanUp());

  it('shows every event over the live channel, without HTTP requests for events', async () => {
    const ask = { step: 2, question: 'Now?' };
    const id = await submitted(world, { steps: 3, step_ms: 50, progress_events: 3, ask });
    const watching = cli.spawn(['task', 'watch', id, '--json', '-v']);
    await watching.says(/"to":"paused"/);
    assert.equal((await world.send('GET', '/health/channel')).json.connections, 1);
    await world.send('POST', `/api/v1/tasks/${id}/continue`);
    const done = await watching.ended;
    assert.deepEqual([done.code, done.stderr], [0, '']);
    assertWhole(eventsIn(done));
    assert.equal(hasAskedForEvents(world, id), false);
    const { last_seq } = (await world.send('GET', `/api/v1/tasks/${id}`)).json;
    assert.equal(eventsIn(done).length, last_seq);
  });

  it('shows every event of an ended run', async () => {
    const id = await submitted(world, { steps: 2 });
    await world.reaches(id, 'completed');
    const done = await cli.run(['task', 'watch', id, '--json']);
    assertWhole(eventsIn(done));
    const behind = eventsIn(done).length - 2;
    const rest = await cli.run(['task', 'watch', id, '--json', '--after', String(behind)]);
    assert.deepEqual(eventsIn(rest), eventsIn(done).slice(behind));
    assert.equal(hasAskedForEvents(world, id), false);
  });

  it('works for a signed-in person', async () => {
    const args = ['login', '--email', world.installation.admin_email, '--password-stdin'];
    delete cli.env['BATON_API_KEY'];
    assert.equal((await cli.run(args, { input: PASSWORD })).code, 0);
    const id = await submitted(world, { steps: 1, step_ms: 50 });
    assertWhole(eventsIn(await cli.run(['task', 'watch', id, '--json'])));
    assert.equal(hasAskedForEvents(world, id), false);
  });

  it('renews its token, while a connection without renewal is closed', async () => {
    const renewed = await openChannel(await withShortToken(world, 9));
    const id = await submitted(world, { steps: 1, ask: { step: 1, question: 'Now?' } });
    await renewed.ask('join', { room: `workflow:${id}`, after: 0 });
    const other = await openChannel(await withShortToken(world, 9), { times: { renewal: 60_000 } });
    await assert.rejects(
      Array.fromAsync(other.pushed),
      (error) => error instanceof ChannelError && error.code === 'token_expired',
    );
    await world.send('POST', `/api/v1/tasks/${id}/continue`);
    const seen: string[] = [];
    for await (const message of renewed.pushed) {
      if (message.type !== 'event') continue;
      seen.push(message.event.type);
      if (message.event.type === 'run.ended') break;
    }
    renewed.close();
    assert.ok(seen.includes('step.completed'));
  });
});

describe('baton task watch, without a live channel,', () => {
  const world = useOwnWorld({ environment: { CHANNEL_IN_API: 'false' } });
  let cli: Cli;
  beforeEach(() => {
    cli = cliWith({ BATON_URL: world.api.url, BATON_API_KEY: world.installation.api_key });
  });
  afterEach(() => cli.cleanUp());

  it('shows every event over server-sent events, and reports this with -v', async () => {
    const id = await submitted(world, { steps: 3, step_ms: 50, progress_events: 3 });
    const done = await cli.run(['task', 'watch', id, '--json', '-v']);
    assert.equal(done.code, 0);
    assertWhole(eventsIn(done));
    assert.match(done.stderr, /^The live channel .+; following by server-sent events\n$/);
  });

  it('does not report this without -v', async () => {
    const id = await submitted(world, { steps: 1 });
    const done = await cli.run(['task', 'watch', id, '--json']);
    assertWhole(eventsIn(done));
    assert.equal(done.stderr, '');
  });
});

async function submitted(world: World, rehearsal: object): Promise<string> {
  return (await world.submit({ metadata: { rehearsal } })).json.execution_id;
}

function hasAskedForEvents(world: World, id: string): boolean {
  return world.logged().includes(`/tasks/${id}/events`);
}

/** Returns the API for the key of the installation. Its first token lives only `seconds`. */
async function withShortToken(world: World, seconds: number): Promise<Api> {
  const { api_key: key } = world.installation;
  const api = createApi(world.api.url, { kind: 'key', key });
  const long = await api.call<{ token: string }>('POST', '/api/v1/tokens');
  const ring = world.configuration.tokenKeys;
  const claims = await createTokens(ring, null, () => new Date()).verify(long.token);
  assert.ok(claims.origin === 'own');
  const earlier = () => new Date(Date.now() - (TOKEN_SECONDS - seconds) * 1_000);
  const { token, expiresAt } = await createTokens(ring, null, earlier).issue(claims);
  let isFirst = true;
  return {
    ...api,
    async open(...request) {
      if (!isFirst) return await api.open(...request);
      isFirst = false;
      return Response.json({ token, expires_at: expiresAt.toISOString() });
    },
  };
}
