import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseCatalogue } from '../../src/agents/catalogue.ts';
import { adoptPlan } from '../../src/agents/plan.ts';
import type { StoredPlan } from '../../src/domain/tasks/rerun.ts';
import type { Step } from '../../src/domain/tasks/run-schemas.ts';
import { startWorld, type World } from '../support/world.ts';
import {
  saidIn,
  modelSettings,
  startModelServer,
  turnOf,
  type ModelServer,
} from '../support/model-server.ts';
import { teamText } from './model-world.ts';

describe('a rerun with models', function () {
  let server: ModelServer;
  let world: World;
  let isBroken = true;
  const folder = mkdtempSync(join(tmpdir(), 'baton-rerun-'));
  before(async () => {
    server = await startModelServer((asked) => {
      if (saidIn(asked).includes('Your step now: "build"')) {
        return isBroken ? { status: 400, message: 'not today' } : { text: 'Built.' };
      }
      return turnOf(asked) === 1
        ? {
            text: '',
            calls: [
              { name: 'save_artifact', arguments: { name: 'd.md', media_type: 'text/plain', content: 'x' } },
            ],
          }
        : { text: 'Use two tables.' };
    });
    const agents = join(folder, 'agents.yml');
    writeFileSync(agents, teamText());
    world = await startWorld({
      environment: {
        AGENTS_FILE: agents,
        ...modelSettings(server),
      },
    });
  });
  after(async () => {
    await world.close();
    await server.close();
    rmSync(folder, { recursive: true });
  });

  it('repeats no finished step, and passes its result and artifacts to the next', async () => {
    const { json } = await world.submit({ task_type: 'feature' });
    const { json: failed } = await world.reaches(json.execution_id, 'failed');
    assert.deepEqual(
      failed.steps.map(({ status }: Step) => status),
      ['completed', 'failed'],
    );
    isBroken = false;
    const before = server.asked.length;
    const { json: again } = await world.send('POST', `/api/v1/tasks/${json.execution_id}/rerun`);
    assert.equal(again.rerun_from, 'build');
    await world.send('DELETE', `/api/v1/tasks/${json.execution_id}`);
    const { json: done } = await world.reaches(again.execution_id, 'completed');
    const asked = server.asked.slice(before);
    assert.equal(asked.length, 1, 'design was not repeated');
    assert.ok(asked[0]);
    assert.match(saidIn(asked[0]), /Use two tables\./);
    assert.deepEqual(
      done.output.steps.map(({ name, result }: Record<string, unknown>) => [name, result]),
      [
        ['design', 'Use two tables.'],
        ['build', 'Built.'],
      ],
    );
    assert.equal(done.output.artifacts[0].step, 'design');
    assert.equal(done.usage.model_calls, 1, 'the usage of kept steps is not counted again');
    assert.ok(done.steps[0].usage.model_calls >= 2);
  });
});

describe('the plan of a rerun', () => {
  const catalogue = (model: string) => parseCatalogue(teamText({ more: '' }), 'test', model);
  const step = (name: string, agent: string) => ({
    id: name,
    name,
    agent,
    after: [],
    time_limit_ms: 1_000,
    retry: { maximum_attempts: 1, initial_interval_ms: 1, backoff_coefficient: 1, maximum_interval_ms: 1 },
  });
  const stored = (...steps: ReturnType<typeof step>[]): StoredPlan => ({
    backend: 'rehearsal',
    run_time_limit_ms: 1,
    steps,
    kept: [{ id: 'design' } as Step],
  });
  const task = { taskType: 'feature', rehearsal: null } as const;

  it('uses the current catalogue for new steps, and the original backend for kept ones', () => {
    const adopted = adoptPlan(
      catalogue('openai/gpt-x'),
      task,
      stored(step('design', 'ada'), step('build', 'bob')),
    );
    assert.ok('plan' in adopted);
    assert.deepEqual(
      adopted.plan.steps.map(({ name, backend }) => [name, backend]),
      [
        ['design', 'rehearsal'],
        ['build', 'model'],
      ],
    );
    assert.equal(adopted.plan.backend, 'rehearsal', 'one step was a rehearsal');
  });

  it('is rejected if the agent of a remaining step no longer exists', () => {
    const gone = adoptPlan(
      catalogue('openai/gpt-x'),
      task,
      stored(step('design', 'zoe'), step('build', 'tom')),
    );
    assert.deepEqual(gone, { error: 'agents.yml no longer has the agent tom of step build' });
  });
});
