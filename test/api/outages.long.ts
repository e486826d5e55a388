import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { queryBuilderOf } from '../../src/database/database.ts';
import { migrate } from '../../src/database/migrate.ts';
import { eventually } from '../support/eventually.ts';
import { createPart, postgresIn, temporalIn } from '../support/parts.ts';
import { startReceiver, type Receiver } from '../support/receiver.ts';
import { type Received, useOwnWorld } from '../support/world.ts';
import { assertProblem } from './problems.ts';

describe('the API', () => {
  const folder = mkdtempSync(join(tmpdir(), 'baton-outages-'));
  // PostgreSQL runs as another user when the tests run as root.
  chmodSync(folder, 0o711);
  const postgres = createPart(postgresIn(folder, 'test'));
  const temporal = createPart(temporalIn(folder));
  let receiver: Receiver;
  const world = useOwnWorld(async () => {
    [receiver] = await Promise.all([startReceiver(), postgres.start(), temporal.start()]);
    const url = postgres.running().url();
    await migrate(url);
    return {
      worker: false,
      deliveryWorker: true,
      // A service whose Temporal is gone takes long to close, so both end after it.
      database: { url, drop: stopAll },
      temporalAddress: temporal.running().address,
    };
  });
  async function stopAll(): Promise<void> {
    await Promise.all([postgres.stop(), temporal.stop(), receiver?.close()]);
    rmSync(folder, { recursive: true, force: true });
  }
  after(async () => {
    if (!('close' in world)) await stopAll();
  });

  const readiness = async () => (await world.send('GET', '/health/ready', { key: null })).json;
  const event = (id?: string) => ({ id, event: 'issue.created', data: { issue: { id: '1' } } });
  const publish = (body: unknown) => world.send('POST', '/api/v1/events', { body });
  const countOf = async (where: string): Promise<number> => {
    const { rows } = await sql<{ n: number }>`select count(*)::int as n from ${sql.raw(where)}`.execute(
      queryBuilderOf(world.database),
    );
    return rows[0]?.n ?? -1;
  };
  const assertUnavailable = (answers: readonly Received[]) => {
    for (const received of answers) {
      assertProblem(received, 503, 'unavailable');
      assert.ok(received.headers.get('retry-after'));
    }
  };

  describe('without Temporal', () => {
    let run: string;
    let webhook: string;
    const plan = () => ({ name: 'Chat', url: receiver.url, events: [{ event: 'issue.updated' }] });
    const testWebhook = () => world.send('POST', `${webhook}/test`, { body: { event: 'issue.updated' } });
    const log = async () => (await world.send('GET', `${webhook}/deliveries`)).text;
    const recover = () =>
      world.send('POST', `${webhook}/recover`, { body: { since: '2020-01-01T00:00:00Z' } });

    before(async () => {
      const { json } = await world.submit({ metadata: { rehearsal: { plan_ms: 60_000 } } });
      run = `/api/v1/tasks/${json.execution_id}`;
      assert.equal((await publish(event('known'))).status, 202);
      const open = 'event_groups where started_at is null';
      await eventually('the event group is started', async () => (await countOf(open)) === 0);
      webhook = `/api/v1/webhooks/${(await world.send('POST', '/api/v1/webhooks', { body: plan() })).json.id}`;
      assert.equal((await testWebhook()).status, 200);
      // What was a test is made a real one, so that there is something to retry and recover.
      await sql`update deliveries set test = false, status = 'failed'`.execute(
        queryBuilderOf(world.database),
      );
      await temporal.kill();
    });

    it('refuses submissions with 503, keeps nothing of them, and says why it is not ready', async () => {
      const before = await countOf('task_runs');
      assertUnavailable(await Promise.all([world.submit(), world.send('POST', `${run}/pause`)]));
      assert.equal(await countOf('task_runs'), before);
      const { checks } = await readiness();
      assert.equal(checks.temporal.status, 'failing');
      assert.equal(checks.postgres.status, 'ok');
      assert.equal((await world.send('GET', run)).status, 200, 'the projection answers');
      assert.equal((await world.send('GET', '/health/live', { key: null })).status, 200);
    });

    it('refuses events with 503 and stores none, apart from known ones', async () => {
      const before = await countOf('events');
      const answers = await Promise.all([
        publish(event('single')),
        publish({ events: [event('many-1'), event('many-2')] }),
        ...Array.from({ length: 10 }, (_, index) => publish(event(`more-${index}`))),
      ]);
      assertUnavailable(answers);
      assert.equal(await countOf('events'), before);
      assert.equal(await countOf('event_groups where started_at is null'), 0);
      assert.deepEqual((await publish(event('known'))).json, { id: 'known', duplicate: true });
    });

    it('creates and changes webhooks; what needs sending is refused and changes nothing', async () => {
      const before = await log();
      const [delivery] = JSON.parse(before).data;
      const retry = world.send('POST', `/api/v1/deliveries/${delivery.id}/retry`);
      assertUnavailable(await Promise.all([testWebhook(), retry, recover()]));
      assert.equal(await log(), before);
      assert.equal((await world.send('PATCH', webhook, { body: { name: 'Mail' } })).json.name, 'Mail');
      assert.equal((await world.send('POST', '/api/v1/webhooks', { body: plan() })).status, 201);
    });

    it('recovers by itself', async () => {
      await temporal.start();
      await eventually('submissions are accepted', async () => (await world.submit()).status === 201);
      await eventually('events are accepted', async () => (await publish(event())).status === 202);
      assert.equal((await publish(event('single'))).json.duplicate, false);
      await eventually('the delivery is recovered', async () => (await recover()).status === 202);
      await receiver.receives(2);
    });
  });

  describe('without PostgreSQL', () => {
    before(() => postgres.kill());

    it('answers 503 and says why it is not ready', async () => {
      assertUnavailable(
        await Promise.all([
          world.submit(),
          world.send('GET', '/api/v1/tasks'),
          publish(event('dry')),
          publish({ events: [event('dry-1')] }),
        ]),
      );
      assert.equal((await readiness()).checks.postgres.status, 'failing');
    });

    it('recovers by itself', async () => {
      await postgres.start();
      await eventually('submissions are accepted', async () => (await world.submit()).status === 201);
      await eventually('events are accepted', async () => (await publish(event())).status === 202);
      assert.equal((await publish(event('dry'))).json.duplicate, false);
      assert.equal((await readiness()).status, 'ready');
    });
  });
});
