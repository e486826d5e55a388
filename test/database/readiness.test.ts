import assert from 'node:assert/strict';
import { readinessOfWorkers } from '../../src/runtime/observation.ts';
import { useInstallation } from '../support/installation.ts';

describe('the readiness of a process with workers', () => {
  const fresh = useInstallation({ poolSize: 2 });
  const workers = (callbacks: string) => ({
    runs: { state: () => 'RUNNING' },
    callbacks: { state: () => callbacks },
  });
  const up = async () => {};
  const down = async () => {
    throw new Error('unavailable');
  };

  it('needs PostgreSQL, Temporal and each worker', async () => {
    const { status } = await readinessOfWorkers(fresh.database, up, workers('RUNNING'));
    assert.equal(status, 'ready');
    for (const state of ['FAILED', 'DRAINING', 'STOPPED']) {
      const { status: without, checks } = await readinessOfWorkers(fresh.database, up, workers(state));
      assert.equal(without, 'not_ready', state);
      assert.deepEqual(checks['workers'], {
        status: 'failing',
        reason: `The worker for callbacks is ${state.toLowerCase()}.`,
      });
    }
    assert.equal((await readinessOfWorkers(fresh.database, down, workers('RUNNING'))).status, 'not_ready');
  });

  it('does not need Temporal in a process that accepts work without it', async () => {
    const needs = { needsTemporal: false };
    const { status, checks } = await readinessOfWorkers(fresh.database, down, workers('RUNNING'), needs);
    assert.deepEqual([status, checks['temporal']?.status], ['ready', 'failing']);
  });
});
