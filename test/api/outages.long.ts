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
      deliveryWorker: true,
      environment: { MOST_WAITING_TASKS: '5', MOST_WAITING_EVENTS: '20' },
      // A service without Temporal takes long to close, so both are stopped after it.
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
    const accepted: string[] = [];
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
      // Changes the test delivery to a real one that can be retried and recovered.
      await sql`update deliveries set test = false, status = 'failed'`.execute(
        queryBuilderOf(world.database),
      );
      await temporal.kill();
    });

    it('accepts submissions and events, reports what waits, and returns 503 for signals', async () => {
      const { status, json } = await world.submit({ metadata: { rehearsal: { steps: 1 } } });
      assert.equal(status, 201);
      accepted.push(json.execution_id);
      const shown = await world.send('GET', `/api/v1/tasks/${json.execution_id}`);
      assert.equal(shown.json.state, 'initializing');
      assert.deepEqual((await publish(event('single'))).json, { id: 'single', duplicate: false });
      assert.equal((await publish({ events: [event('many-1'), event('many-2')] })).status, 202);
      assert.deepEqual((await publish(event('single'))).json, { id: 'single', duplicate: true });
      assertUnavailable([await world.send('POST', `${run}/pause`)]);
      const ready = await eventually('the API reports this failure alone', async () => {
        const received = await world.send('GET', '/health/ready', { key: null });
        const { temporal: failing, postgres: other } = received.json.checks;
        return failing.status === 'failing' && other.status === 'ok' && received;
      });
      assert.equal(ready.status, 200, 'the API still accepts work');
      assert.deepEqual([ready.json.waiting.tasks.count, ready.json.waiting.events.count], [1, 3]);
      assert.equal((await world.send('GET', run)).status, 200, 'the run is read from PostgreSQL');
      assert.equal((await world.send('GET', '/health/live', { key: null })).status, 200);
    });

    it('returns 503 and stores nothing above the limits of waiting tasks and events', async () => {
      const refused = async (send: () => Promise<Received>, onAccepted: (received: Received) => void) =>
        await eventually('more work is rejected', async () => {
          const received = await send();
          if (received.status === 503) return received;
          onAccepted(received);
          return null;
        });
      const late = await refused(
        () => world.submit({ metadata: { rehearsal: { steps: 1 } } }),
        ({ json }) => accepted.push(json.execution_id),
      );
      assertUnavailable([late]);
      assert.match(late.json.detail, /accepted tasks wait/);
      assert.equal(await countOf(`task_runs where state = 'initializing'`), accepted.length);
      let events = await countOf('events where not test');
      const lateEvent = await refused(
        () => publish(event()),
        () => (events += 1),
      );
      assertUnavailable([lateEvent]);
      assert.equal(await countOf('events where not test'), events);
    });

    it('creates and changes webhooks, and rejects tests, retries and recoveries without effect', async () => {
      const before = await log();
      const [delivery] = JSON.parse(before).data;
      const retry = world.send('POST', `/api/v1/deliveries/${delivery.id}/retry`);
      assertUnavailable(await Promise.all([testWebhook(), retry, recover()]));
      assert.equal(await log(), before);
      assert.equal((await world.send('PATCH', webhook, { body: { name: 'Mail' } })).json.name, 'Mail');
      assert.equal((await world.send('POST', '/api/v1/webhooks', { body: plan() })).status, 201);
    });

    it('recovers without a restart', async function () {
      this.timeout(300_000);
      await temporal.start();
      for (const id of accepted) await world.reaches(id, 'completed');
      await eventually(
        'everything accepted is dispatched',
        async () => (await countOf('event_groups where done_at is null')) === 0,
      );
      await eventually('submissions are accepted', async () => (await world.submit()).status === 201);
      await eventually('events are accepted', async () => (await publish(event())).status === 202);
      await eventually('the delivery is recovered', async () => (await recover()).status === 202);
      await receiver.receives(2);
    });
  });

  describe('without PostgreSQL', () => {
    before(() => postgres.kill());

    it('returns 503 and reports why it is not ready', async () => {
      assertUnavailable(
        await Promise.all([
          world.submit(),
          world.send('GET', '/api/v1/tasks'),
          publish(event('dry')),
          publish({ events: [event('dry-1')] }),
        ]),
      );
      const isFailing = async () => (await readiness()).checks.postgres.status === 'failing';
      await eventually('the API reports the failure', isFailing);
    });

    it('recovers without a restart', async function () {
      this.timeout(300_000);
      await postgres.start();
      await eventually('submissions are accepted', async () => (await world.submit()).status === 201);
      await eventually('events are accepted', async () => (await publish(event())).status === 202);
      assert.equal((await publish(event('dry'))).json.duplicate, false);
      await eventually('the API is ready', async () => (await readiness()).status === 'ready');
    });
  });
});
