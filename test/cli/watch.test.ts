import assert from 'node:assert/strict';
import { openChannel } from '../../cli/channel.ts';
import { ChannelError } from '../../cli/channel-error.ts';
import { type Api, createApi } from '../../cli/http.ts';
import type { FeedEvent } from '../../src/domain/feed-events.ts';
import { TOKEN_SECONDS } from '../../src/domain/limits.ts';
import { createTokens } from '../../src/security/tokens.ts';
import { startWorld, type World } from '../support/world.ts';
import { eventually } from '../support/eventually.ts';
import { type Service, startService } from '../support/service.ts';
import { type Cli, cliWith, type Done } from './cli-process.ts';

const eventsIn = ({ stdout }: Done): FeedEvent[] =>
  stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));

/** In order, without gap or repeat, to the last. */
function isWhole(events: readonly FeedEvent[], last = 'run.ended'): void {
  assert.deepEqual(
    events.map(({ seq }) => seq),
    events.map((_, index) => index + 1),
  );
  assert.equal(events.at(-1)?.type, last);
}

describe('baton task watch', () => {
  let world: World;
  let cli: Cli;
  const start = async (environment: Record<string, string> = {}) => {
    world = await startWorld({ environment });
    cli = cliWith({ BATON_URL: world.api.url, BATON_API_KEY: world.installation.api_key });
  };
  const submitted = async (rehearsal: object): Promise<string> =>
    (await world.submit({ metadata: { rehearsal } })).json.execution_id;
  const askedForEvents = () => world.logged().includes('/events');
  afterEach(async () => {
    cli.cleanUp();
    await world.close();
  });

  it('shows every event by the live channel, and asks for none over HTTP', async () => {
    await start();
    const id = await submitted({ steps: 3, step_ms: 300, progress_events: 3 });
    const watching = cli.start(['task', 'watch', id, '--json', '-v']);
    await watching.says(/step\.started/);
    assert.equal((await world.send('GET', '/health/channel')).json.connections, 1);
    const done = await watching.ended;
    assert.deepEqual([done.code, done.stderr], [0, '']);
    isWhole(eventsIn(done));
    assert.equal(askedForEvents(), false);
    const { last_seq } = (await world.send('GET', `/api/v1/tasks/${id}`)).json;
    assert.equal(eventsIn(done).length, last_seq);
  });

  it('shows every event of a run that has ended long ago', async () => {
    await start();
    const id = await submitted({ steps: 2 });
    await world.reaches(id, 'completed');
    const done = await cli.run(['task', 'watch', id, '--json']);
    isWhole(eventsIn(done));
    const behind = eventsIn(done).length - 2;
    const rest = await cli.run(['task', 'watch', id, '--json', '--after', String(behind)]);
    assert.deepEqual(eventsIn(rest), eventsIn(done).slice(behind));
    assert.equal(askedForEvents(), false);
  });

  it('follows a person who is signed in', async () => {
    await start();
    const args = ['login', '--email', 'owner@example.com', '--password-stdin'];
    delete cli.env['BATON_API_KEY'];
    assert.equal((await cli.run(args, { input: 'a good long password' })).code, 0);
    const id = await submitted({ steps: 1, step_ms: 200 });
    isWhole(eventsIn(await cli.run(['task', 'watch', id, '--json'])));
    assert.equal(askedForEvents(), false);
  });

  describe('where the service carries no channel', () => {
    beforeEach(() => start({ CHANNEL_IN_API: 'false' }));

    it('shows every event by server-sent events, and says so with -v', async () => {
      const id = await submitted({ steps: 3, step_ms: 300, progress_events: 3 });
      const done = await cli.run(['task', 'watch', id, '--json', '-v']);
      assert.equal(done.code, 0);
      isWhole(eventsIn(done));
      assert.match(done.stderr, /^The live channel .+; following by server-sent events\n$/);
    });

    it('says nothing of it without', async () => {
      const id = await submitted({ steps: 1 });
      const done = await cli.run(['task', 'watch', id, '--json']);
      isWhole(eventsIn(done));
      assert.equal(done.stderr, '');
    });
  });

  describe('its connection', () => {
    let short: Api;
    beforeEach(async () => {
      await start();
      short = await withShortToken(world, 2);
    });

    it('outlives the token that it began with', async () => {
      const channel = await openChannel(short);
      const id = await submitted({ steps: 1, step_ms: 3_500 });
      await channel.ask('join', { room: `workflow:${id}`, after: 0 });
      const seen: string[] = [];
      for await (const message of channel.pushed) {
        if (message.type !== 'event') continue;
        seen.push(message.event.type);
        if (message.event.type === 'run.ended') break;
      }
      channel.close();
      assert.ok(seen.includes('step.started'));
    });

    it('ends with that token where it is not renewed', async () => {
      const channel = await openChannel(short, { times: { renewal: 60_000 } });
      await assert.rejects(
        Array.fromAsync(channel.pushed),
        (error) => error instanceof ChannelError && error.code === 'token_expired',
      );
    });
  });
});

/** The API for the installation's key, whose first token lives `seconds` only. */
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

describe('baton task watch, while the API is killed', function () {
  this.timeout(120_000);
  let service: Service;
  let cli: Cli;
  before(async () => {
    service = await startService();
    cli = cliWith({ BATON_URL: service.url, BATON_API_KEY: service.installation.api_key });
  });
  after(async () => {
    cli?.cleanUp();
    await service?.close();
  });

  it('shows every event once, those of the time without it included', async () => {
    const rehearsal = { steps: 8, step_ms: 700, progress_events: 4 };
    const { execution_id: id } = (await service.submit({ metadata: { rehearsal } })).json;
    const watching = cli.start(['task', 'watch', id, '--json', '-v']);
    for (const step of ['step-2', 'step-5']) {
      await watching.says(new RegExp(`"type":"step.started".*"name":"${step}"`), 20_000);
      await service.api.kill();
      // What happens now is told by nobody.
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      await service.api.start();
    }
    const done = await watching.ended;
    assert.equal(done.code, 0, done.stderr);
    isWhole(eventsIn(done));
    assert.equal(eventsIn(done).filter(({ type }) => type === 'step.completed').length, 8);
    assert.doesNotMatch(done.stderr, /following by/);
    await eventually('nobody is connected any more', async () => {
      const { json } = await service.send('GET', '/health/channel');
      return json.connections === 0;
    });
  });
});
