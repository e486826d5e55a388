import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { startTemporal, type RunningTemporal } from '../../dev/temporal.ts';
import { statements } from '../../src/database/connect.ts';
import { startReceiver, type Receiver } from '../support/receiver.ts';
import { eventually } from '../support/eventually.ts';
import { assertProblem } from './problems.ts';
import { startWorld, type World } from '../support/world.ts';

describe('without Temporal, webhooks', () => {
  const folder = mkdtempSync(join(tmpdir(), 'baton-webhook-outages-'));
  let world: World;
  let receiver: Receiver;
  let temporal: RunningTemporal;
  const startEngine = async (port?: number) =>
    await startTemporal({
      logFile: join(folder, 'temporal.log'),
      dbFile: join(folder, 'temporal.db'),
      ...(port ? { port } : {}),
    });
  before(async () => {
    [temporal, receiver] = await Promise.all([startEngine(), startReceiver()]);
    world = await startWorld({ worker: false, deliveryWorker: true, temporalAddress: temporal.address });
  }).timeout(60_000);
  after(async () => {
    await world.close();
    await Promise.all([temporal.stop(), receiver.close()]);
    rmSync(folder, { recursive: true, force: true });
  });

  it('are made and changed as ever; what needs sending is refused and changes nothing', async () => {
    const plan = { name: 'Chat', url: receiver.url, events: [{ event: 'issue.created' }] };
    const { json: webhook } = await world.send('POST', '/api/v1/webhooks', { body: plan });
    const path = `/api/v1/webhooks/${webhook.id}`;
    const test = () => world.send('POST', `${path}/test`, { body: { event: 'issue.created' } });
    assert.equal((await test()).status, 200);
    // What was a test is made a real one, so that there is something to retry and recover.
    await sql`update deliveries set test = false, status = 'failed'`.execute(statements(world.database));
    const log = async () => (await world.send('GET', `${path}/deliveries`)).text;
    const before = await log();
    const [delivery] = JSON.parse(before).data;

    await temporal.kill();
    assertProblem(await test(), 503, 'unavailable');
    assertProblem(await world.send('POST', `/api/v1/deliveries/${delivery.id}/retry`), 503, 'unavailable');
    const body = { since: delivery.created_at };
    assertProblem(await world.send('POST', `${path}/recover`, { body }), 503, 'unavailable');
    assert.equal(await log(), before);
    assert.equal((await world.send('PATCH', path, { body: { name: 'Mail' } })).json.name, 'Mail');
    assert.equal((await world.send('POST', '/api/v1/webhooks', { body: plan })).status, 201);

    temporal = await startEngine(temporal.port);
    const recover = () => world.send('POST', `${path}/recover`, { body });
    await eventually('it is recovered', async () => (await recover()).status === 202);
    await receiver.receives(2);
  }).timeout(60_000);
});
