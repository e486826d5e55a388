import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { historyFromJSON } from '@temporalio/common/lib/proto-utils.js';
import { DefaultLogger, Worker } from '@temporalio/worker';
import { pino } from 'pino';
import { agentsBundle, workflowBundle } from '../../src/runtime/bundle.ts';
import { connectTemporal } from '../../src/runtime/temporal.ts';
import { eventually } from '../support/eventually.ts';
import { useRuntime } from '../support/runs.ts';
import { services } from '../support/services.ts';
import { steerRun } from '../support/steer-run.ts';
import { startCollector } from './collector.ts';
import { startObserved } from './observed.ts';

const FOLDER = join(import.meta.dirname, '..', 'workflows', 'histories');
const LOGGER = new DefaultLogger('ERROR');

/** Tracing can be enabled or disabled while runs are open, so replays must not depend on it. */
describe('workflow histories', function () {
  this.timeout(180_000);

  before(() => useRuntime(pino({ level: 'silent' })));

  it('recorded without tracing replay with tracing', async () => {
    let replayed = 0;
    for (const [folder, bundleOf] of [
      [FOLDER, workflowBundle],
      [join(FOLDER, 'agents'), agentsBundle],
    ] as const) {
      const bundle = await bundleOf(LOGGER, {}, true);
      for (const name of readdirSync(folder).filter((file) => file.endsWith('.json'))) {
        const history = historyFromJSON(JSON.parse(readFileSync(join(folder, name), 'utf8')));
        await Worker.runReplayHistory({ workflowBundle: bundle, replayName: name }, history);
        replayed += 1;
      }
    }
    assert.ok(replayed >= 18, `${replayed} histories`);
  });

  it('recorded with tracing replay with and without tracing', async () => {
    const collector = await startCollector();
    const service = await startObserved(
      { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, RATE_LIMIT_PER_SECOND: '1000' },
      ['api', 'task-worker'],
    );
    process.env['TEMPORAL_ADDRESS'] = services().temporalAddress;
    const { client, connection } = await connectTemporal();
    try {
      const ids = await Promise.all(
        Array.from({ length: 16 }, (_, number) => startScenario(service, number)),
      );
      const bundles = [await workflowBundle(LOGGER), await workflowBundle(LOGGER, {}, true)];
      for (const id of ids) {
        const handle = client.workflow.getHandle(id);
        await handle.result().catch(() => {});
        const history = await handle.fetchHistory();
        const [first] = history.events ?? [];
        assert.ok(first?.workflowExecutionStartedEventAttributes?.header?.fields?.['traceparent']);
        for (const bundle of bundles) {
          await Worker.runReplayHistory({ workflowBundle: bundle, replayName: id }, history);
        }
      }
    } finally {
      await connection.close();
      await service.close();
      await collector.close();
    }
  });
});

/** Starts a run of one of several scenarios; some runs are paused and continued, or cancelled. */
async function startScenario(
  service: Awaited<ReturnType<typeof startObserved>>,
  number: number,
): Promise<string> {
  const rehearsal = {
    step_ms: [0, 20, 300, 300][number % 4],
    progress_events: number % 3,
    ...(number % 5 === 0 ? { fail: { step: 2, times: 1 } } : {}),
    ...(number % 7 === 0 ? { unrecoverable: { step: 2 } } : {}),
  };
  const task = { title: 'A task', project_id: service.installation.project_id, metadata: { rehearsal } };
  const answer = await service.send('POST', '/api/v1/tasks', task);
  assert.equal(answer.status, 201);
  const { execution_id: id } = (await answer.json()) as { execution_id: string };
  const sendCommand = (what: string) =>
    steerRun(() => service.send('POST', `/api/v1/tasks/${id}/${what}`, {}), { mayHaveEnded: true });
  if (number % 3 === 1) {
    await sendCommand('pause');
    await eventually('the run is paused or has ended', async () => {
      const shown = await service.send('GET', `/api/v1/tasks/${id}`);
      return !['initializing', 'planning', 'executing'].includes(
        ((await shown.json()) as { state: string }).state,
      );
    });
    await sendCommand('continue');
  }
  if (number % 8 === 2) await sendCommand('cancel');
  return id;
}
