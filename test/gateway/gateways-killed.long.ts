import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import { withClient } from '../../dev/services/postgres.ts';
import type { FeedEvent } from '../../src/domain/tasks/feed-events.ts';
import { untilEach } from '../faults/service-runs.ts';
import { runningService } from '../faults/shared-service.ts';
import { isTerminal } from '../../src/domain/tasks/task-states.ts';
import { NODE_CLIENTS } from '../support/channel-clients.ts';
import { announcedSeed, createRandom } from '../support/random.ts';
import { eventually } from '../support/eventually.ts';
import type { Service } from '../support/service.ts';
import { startViewer, type Viewer } from '../support/viewer.ts';

const RUNS = 6;
/** About eight seconds each, so that a run is active while a gateway or PostgreSQL is stopped. */
const REHEARSAL = { steps: 8, step_ms: 1_000, progress_events: 6 };
const AWAY_MS = 1_500;
const NO_BREAKS = { max: 0, probability: 0 };

describe('the viewers of two gateways', function () {
  this.timeout(240_000);
  let service: Service;
  let token: string;
  beforeEach(async () => {
    service = await runningService();
    for (const part of [service.gateway, service.secondGateway]) if (!part.isRunning()) await part.start();
    token = (await service.send('POST', '/api/v1/tokens')).json.token;
  });
  after(async () => {
    for (const part of [service.gateway, service.secondGateway]) await part.stop();
  });

  it('get every event once if one gateway is killed', async () => {
    const { ids, atFirst, atSecond } = await viewRuns();
    await service.gateway.kill();
    await wait(AWAY_MS);
    await service.gateway.start();
    await assertAllHaveAll(ids, [...atFirst, ...atSecond]);
    for (const viewer of atFirst) assert.ok(viewer.connections() > 1, `${viewer.client} reconnected`);
    for (const viewer of atSecond)
      assert.equal(viewer.connections(), 1, `${viewer.client} was not disturbed`);
  });

  it('get a message if one gateway stops, and get every event once', async () => {
    const { ids, atFirst, atSecond } = await viewRuns();
    const followers = await Promise.all(
      NODE_CLIENTS.map(async (client) => {
        const following = await client.follow(service.gatewayUrls[0], token, ids[0] ?? '');
        return { client, following };
      }),
    );
    const stopping = service.gateway.stop();
    for (const { client, following } of followers) {
      const code = await following.ended;
      // A client that polls cannot get the message between two polls; its next poll finds no server.
      const isBetweenPolls = code === null && client.name.endsWith('polling alone');
      assert.ok(code === 'server_stopping' || isBetweenPolls, `${client.name} gets the code ${code}`);
      await following.disconnect();
    }
    await stopping;
    await service.gateway.start();
    await assertAllHaveAll(ids, [...atFirst, ...atSecond]);
  });

  it('stay connected and get every event once if the listening PostgreSQL connections break', async () => {
    const { ids, atFirst, atSecond } = await viewRuns();
    const broken = await withClient(service.databaseUrl, (client) =>
      client.query(
        `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'baton listener'`,
      ),
    );
    assert.ok((broken.rowCount ?? 0) >= 3, 'the API and both gateways have listening connections');
    await assertAllHaveAll(ids, [...atFirst, ...atSecond]);
    for (const viewer of [...atFirst, ...atSecond]) assert.equal(viewer.connections(), 1, viewer.client);
  });

  it('stay connected and get every event once if PostgreSQL is killed and restarted', async () => {
    const { gateway, secondGateway, postgres } = service;
    const pids = [gateway.pid(), secondGateway.pid()];
    const { ids, atFirst, atSecond } = await viewRuns();
    await postgres.kill();
    await wait(AWAY_MS);
    await postgres.start();
    await assertAllHaveAll(ids, [...atFirst, ...atSecond]);
    assert.ok(gateway.isRunning() && secondGateway.isRunning(), 'the gateways still run');
    assert.deepEqual([gateway.pid(), secondGateway.pid()], pids);
    for (const viewer of [...atFirst, ...atSecond]) assert.equal(viewer.connections(), 1, viewer.client);
  });

  it('get the stored events while Temporal is unavailable', async () => {
    const { json } = await service.submit({ metadata: { rehearsal: { ...REHEARSAL, step_ms: 1_500 } } });
    const id = json.execution_id as string;
    await eventually('the run has begun', async () => (await feedOf(id)).length > 4);
    await service.temporal.kill();
    const feed = await feedOf(id);
    for (const client of NODE_CLIENTS) {
      const following = await client.follow(service.gatewayUrls[0], token, id, { after: 0 });
      await eventually(`${client.name} has all stored events`, () => following.events.length >= feed.length);
      assert.deepEqual(following.events.slice(0, feed.length), feed);
      assert.equal(following.joined.snapshot['state'], 'executing');
      await following.disconnect();
    }
    await service.temporal.start();
  });

  /** Starts runs with viewers of all kinds of clients, half of them at each gateway. */
  async function viewRuns(): Promise<{ ids: string[]; atFirst: Viewer[]; atSecond: Viewer[] }> {
    const random = createRandom(announcedSeed());
    const submitted = await Promise.all(
      Array.from({ length: RUNS }, () => service.submit({ metadata: { rehearsal: REHEARSAL } })),
    );
    const ids = submitted.map(({ json }) => json.execution_id as string);
    const view = (urls: readonly string[], share: number) =>
      ids.flatMap((executionId, index) =>
        NODE_CLIENTS.filter((_, number) => (number + index) % 2 === share).map((client) =>
          startViewer({
            client,
            urls,
            token,
            executionId,
            random: random.fork(),
            disconnects: NO_BREAKS,
            startsAtFirstUrl: true,
          }),
        ),
      );
    const atFirst = view(service.gatewayUrls, 0);
    const atSecond = view(service.gatewayUrls.toReversed(), 1);
    await Promise.all([...atFirst, ...atSecond].map((viewer) => viewer.reaches(10)));
    return { ids, atFirst, atSecond };
  }

  async function assertAllHaveAll(ids: readonly string[], viewers: readonly Viewer[]): Promise<void> {
    try {
      await untilEach(service, ids, 'all runs have ended', (run) => isTerminal(run.state), 120_000);
      for (const id of ids) {
        const feed = await feedOf(id);
        assert.equal(feed.at(-1)?.type, 'run.ended');
        for (const viewer of viewers.filter(({ executionId }) => executionId === id)) {
          await viewer.reaches(feed.length);
          assert.deepEqual(viewer.events, feed, `${viewer.client} has another sequence of ${id}`);
        }
      }
    } finally {
      await Promise.all(viewers.map((viewer) => viewer.close()));
    }
  }

  async function feedOf(id: string): Promise<FeedEvent[]> {
    const { status, json, text } = await service.send('GET', `/api/v1/tasks/${id}/events`);
    assert.equal(status, 200, text);
    return json.data;
  }
});
