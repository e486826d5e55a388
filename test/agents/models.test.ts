import assert from 'node:assert/strict';
import { startModelServer, type ModelServer } from '../support/model-server.ts';
import { startRuns, type Runs } from '../support/runs.ts';

const TEAM = `
agents: { ada: { instructions: You are Ada. }, bob: { instructions: You are Bob. } }
defaults: { run_time_limit: 1 min, step_time_limit: 20 s, retry: { maximum_attempts: 2, initial_interval: 10 ms, backoff_coefficient: 1, maximum_interval: 10 ms } }
teams:
  feature: [{ step: design, agent: ada }, { step: build, agent: bob }]
  bug: [{ step: one, agent: ada }]
  spec: [{ step: left, agent: ada, after: [] }, { step: middle, agent: ada, after: [] }, { step: right, agent: ada, after: [] }]
  chore: [{ step: one, agent: ada }]
`;

describe('agents with models', function () {
  this.timeout(30_000);
  let server: ModelServer;
  let runs: Runs;
  before(async () => {
    server = await startModelServer(() => ({ text: 'Done.' }));
    runs = await startRuns({
      agents: TEAM,
      environment: {
        DEFAULT_MODEL: 'openai-compatible/test',
        OPENAI_COMPATIBLE_BASE_URL: server.url,
        OPENAI_COMPATIBLE_API_KEY: 'sk-test-secret-key',
      },
    });
  });
  after(async () => {
    await runs.close();
    await server.close();
  });

  it('do the steps of a run, and say so in its output', async () => {
    const id = await runs.submit({ taskType: 'feature' });
    const row = await runs.reaches(id, 'completed').catch(async (error) => {
      console.log(runs.logged().slice(-3000), JSON.stringify(await runs.row(id)));
      throw error;
    });
    assert.deepEqual(row.output, {
      backend: 'model',
      summary: '2 of 2 steps completed',
      steps: [
        { name: 'design', agent: 'ada', backend: 'model', summary: 'Done.', result: 'Done.' },
        { name: 'build', agent: 'bob', backend: 'model', summary: 'Done.', result: 'Done.' },
      ],
    });
  });
});
