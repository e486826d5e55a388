import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPostgres, type RunningPostgres } from '../../dev/postgres.ts';
import { startTemporal, type RunningTemporal } from '../../dev/temporal.ts';
import { migrate } from '../../src/database/migrate.ts';
import { eventually } from '../support/eventually.ts';
import { assertProblem } from './problems.ts';
import { startWorld, type World } from '../support/world.ts';

describe('without Temporal or PostgreSQL, the API', () => {
  const folder = mkdtempSync(join(tmpdir(), 'baton-outages-'));
  // PostgreSQL runs as another user when the tests run as root.
  chmodSync(folder, 0o711);
  let world: World;
  let postgres: RunningPostgres;
  let temporal: RunningTemporal;
  const startBase = async (port?: number) =>
    await startPostgres({
      dataDir: join(folder, 'postgres'),
      logFile: join(folder, 'postgres.log'),
      password: 'test',
      ...(port ? { port } : {}),
    });
  const startEngine = async (port?: number) =>
    await startTemporal({
      logFile: join(folder, 'temporal.log'),
      dbFile: join(folder, 'temporal.db'),
      ...(port ? { port } : {}),
    });

  before(async () => {
    [postgres, temporal] = await Promise.all([startBase(), startEngine()]);
    await migrate(postgres.url());
    world = await startWorld({
      worker: false,
      database: { url: postgres.url(), drop: async () => {} },
      temporalAddress: temporal.address,
    });
  }).timeout(60_000);
  after(async () => {
    await world.close();
    await Promise.all([postgres.stop(), temporal.stop()]);
    rmSync(folder, { recursive: true, force: true });
  });

  const readiness = async () => (await world.send('GET', '/health/ready', { key: null })).json;
  const countRuns = async () => (await world.send('GET', '/api/v1/tasks')).json.data.length as number;

  it('refuses submissions with 503, keeps nothing of them, and says why it is not ready', async () => {
    const { json: submitted } = await world.submit({ metadata: { rehearsal: { plan_ms: 60_000 } } });
    const before = await countRuns();
    await temporal.kill();
    const received = await world.submit();
    assertProblem(received, 503, 'unavailable');
    assert.ok(received.headers.get('retry-after'));
    assert.equal(await countRuns(), before);
    const { checks } = await readiness();
    assert.equal(checks.temporal.status, 'failing');
    assert.equal(checks.postgres.status, 'ok');
    const path = `/api/v1/tasks/${submitted.execution_id}`;
    assert.equal((await world.send('GET', path)).status, 200, 'the projection answers');
    assertProblem(await world.send('POST', `${path}/pause`), 503, 'unavailable');
    assert.equal((await world.send('GET', '/health/live', { key: null })).status, 200);
    temporal = await startEngine(temporal.port);
    await eventually('submissions are taken again', async () => (await world.submit()).status === 201);
  }).timeout(60_000);

  it('answers 503 while the database is gone, and recovers by itself', async () => {
    await postgres.kill();
    for (const received of [await world.submit(), await world.send('GET', '/api/v1/tasks')]) {
      assertProblem(received, 503, 'unavailable');
    }
    const { checks } = await readiness();
    assert.equal(checks.postgres.status, 'failing');
    postgres = await startBase(postgres.port);
    await eventually('submissions are taken again', async () => (await world.submit()).status === 201);
    assert.equal((await readiness()).status, 'ready');
  }).timeout(60_000);
});
