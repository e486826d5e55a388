import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { withClient, type RunningPostgres } from '../../dev/services/postgres.ts';
import { startTemporal, type RunningTemporal } from '../../dev/services/temporal.ts';
import { migrate } from '../../src/database/migrate.ts';
import { setUpTestInstallation } from '../support/installation.ts';
import { useCallbackReceiver } from '../support/callback-receiver.ts';
import { eventually } from '../support/eventually.ts';
import { useFleets, type Fleet, type Process } from './fleet.ts';
import { archiveAll, restore, startArchived, takeBaseBackup, type Archived } from './physical-backup.ts';
import { publishToRetry, untilRetryIsMade } from './retried-delivery.ts';

const STEPS = { steps: 3, step_ms: 300 };
const ASKING = { ...STEPS, ask: { step: 2, question: 'Continue?' } };

describe('a backup', function () {
  this.timeout(600_000);
  const startFleet = useFleets();
  const receiver = useCallbackReceiver('each test');
  let folder: string;
  let archived: Archived;
  let temporal: RunningTemporal;
  let fleet: Fleet;
  let processes: readonly Process[];
  let api: Process;
  let restored: RunningPostgres | null;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'baton-backup-'));
    chmodSync(folder, 0o711); // PostgreSQL may run as another user
    restored = null;
    [archived, temporal] = await Promise.all([
      startArchived(folder, 'a password'),
      startTemporal({ dbFile: join(folder, 'temporal.db'), logFile: join(folder, 'temporal.log') }),
    ]);
    const databaseUrl = archived.server.url();
    await migrate(databaseUrl);
    const installation = await setUpTestInstallation(databaseUrl);
    fleet = await startFleet({}, { databaseUrl, temporalAddress: temporal.address, installation });
    const all = await fleet.startAll();
    processes = all;
    [api] = all;
    await fleet.createWebhook(api, receiver.url);
  });
  afterEach(async () => {
    await Promise.all([archived.server.stop(), restored?.stop(), temporal.stop()]);
    rmSync(folder, { recursive: true, force: true });
  });

  it('restores PostgreSQL on another server up to the last archived transaction', async () => {
    const ended = await fleet.submit(api, { metadata: { rehearsal: STEPS } });
    await fleet.reaches(api, ended, 'completed');
    const paused = await submitPaused();
    const base = await takeBaseBackup(archived);
    const later = await fleet.submit(api, { metadata: { rehearsal: STEPS } });
    await fleet.reaches(api, later, 'completed');
    const before = await Promise.all([ended, later].map(detailOf));
    await archiveAll(archived);
    await archived.server.kill();

    await moveTo(await restore(archived, base, { name: 'whole', until: null }));
    assert.deepEqual(await Promise.all([ended, later].map(detailOf)), before);
    await fleet.continue(api, paused);
    await fleet.reaches(api, paused, 'completed');
    await fleet.publish(api, 'after');
    await receiver.receives(1, 60_000);
    const { stdout } = await fleet.cli.run(['admin', 'after-restore']);
    assert.match(stdout, /Runs only in Temporal, not ended: 0/);
  });

  it("that is older than Temporal's data is reconciled with it", async () => {
    const [ends, goesOn] = [await submitPaused(), await submitPaused()];
    await publishToRetry(fleet, api, receiver);
    const base = await takeBaseBackup(archived);
    const until = await nowOf();

    await fleet.continue(api, ends);
    await fleet.reaches(api, ends, 'completed');
    const end = await detailOf(ends);
    const missing = await fleet.submit(api, { metadata: { rehearsal: STEPS } });
    await fleet.reaches(api, missing, 'completed');
    const orphan = await submitPaused();
    await archiveAll(archived);
    await archived.server.kill();

    await moveTo(await restore(archived, base, { name: 'earlier', until }));
    const done = await fleet.cli.json(['admin', 'after-restore', '--end-orphans']);
    assert.deepEqual(done, { groups: 0, retries: 1, orphans: [orphan] });
    assert.equal((await fleet.client.workflow.getHandle(orphan).describe()).status.name, 'TERMINATED');
    for (const id of [missing, orphan]) {
      assert.equal((await fleet.send(api, 'GET', `/api/v1/tasks/${id}`)).status, 404);
    }

    // The workflow of this run has ended, and its result contains the end.
    await fleet.reaches(api, ends, 'completed', 120_000);
    const { steps, output, errors, completed_at } = await detailOf(ends);
    assert.deepEqual(
      { steps, output, errors, completed_at },
      { steps: end.steps, output: end.output, errors: end.errors, completed_at: end.completed_at },
    );
    await fleet.continue(api, goesOn);
    await fleet.reaches(api, goesOn, 'completed');
    receiver.answering(204);
    await untilRetryIsMade(fleet);
  });

  it("restarts deliveries and cancels runs if Temporal's data is lost", async () => {
    await publishToRetry(fleet, api, receiver);
    const paused = await submitPaused();
    await temporal.kill();
    temporal = await startTemporal({ logFile: join(folder, 'new-temporal.log') });
    await restartWith({ TEMPORAL_ADDRESS: temporal.address });

    receiver.answering(204);
    const { retries, orphans } = await fleet.cli.json(['admin', 'after-restore']);
    assert.deepEqual([retries, orphans], [1, []]);
    await fleet.reaches(api, paused, 'cancelled', 120_000);
    await untilRetryIsMade(fleet);
    const again = await fleet.send(api, 'POST', `/api/v1/tasks/${paused}/rerun`, { body: {} });
    assert.equal(again.status, 201, again.text);
    await fleet.reaches(api, again.json.execution_id, 'paused');
    await fleet.continue(api, again.json.execution_id);
    await fleet.reaches(api, again.json.execution_id, 'completed');
  });

  async function moveTo(server: RunningPostgres): Promise<void> {
    restored = server;
    await restartWith({ DATABASE_URL: server.url() });
  }

  /** A process that has lost its database or Temporal is killed instead of shut down. */
  async function restartWith(variables: Record<string, string>): Promise<void> {
    Object.assign(fleet.environment, variables);
    await Promise.all(processes.map((one) => one.kill()));
    await Promise.all(processes.map((one) => one.start()));
  }

  /** Submits a run that asks a question, and waits until that is stored. It writes nothing more before the answer. */
  async function submitPaused(): Promise<string> {
    const id = await fleet.submit(api, { metadata: { rehearsal: ASKING } });
    await eventually('its question is stored', async () => {
      const { rows } = await inDatabase<{ state: string }>(`select state from task_runs where id = '${id}'`);
      return rows[0]?.state === 'paused';
    });
    return id;
  }

  const detailOf = async (id: string) => (await fleet.send(api, 'GET', `/api/v1/tasks/${id}`)).json;

  async function nowOf(): Promise<string> {
    const { rows } = await inDatabase<{ now: string }>('select clock_timestamp()::text as now');
    return rows[0]?.now ?? '';
  }

  const inDatabase = <Row extends object>(statement: string) =>
    withClient(fleet.environment['DATABASE_URL'] ?? '', (client) => client.query<Row>(statement));
});
