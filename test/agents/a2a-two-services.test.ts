import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TaskState } from '@a2a-js/sdk';
import { startA2aAgent, type A2aAgent } from '../support/a2a-agent.ts';
import { eventually } from '../support/eventually.ts';
import { useOwnRuns } from '../support/runs.ts';
import { useOwnWorld, type World } from '../support/world.ts';

const catalogue = (url: string, more = '') => `
agents:
  remote: { instructions: Look around., a2a: { url: '${url}'${more} } }
defaults: { run_time_limit: 10 min, step_time_limit: 5 min, retry: { maximum_attempts: 1, initial_interval: 10 ms, backoff_coefficient: 1, maximum_interval: 10 ms } }
teams:
  feature: [{ step: look, agent: remote }]
  bug: [{ step: look, agent: remote }]
  spec: [{ step: look, agent: remote }]
  chore: [{ step: look, agent: remote }]
`;

/** The address in the card: the key is sent to no other origin. */
const publicUrl = ({ api }: World) => `http://localhost:${new URL(api.url).port}`;

describe('a service as the remote agent of another', function () {
  let agent: A2aAgent;
  let folder: string;
  before(async () => {
    agent = await startA2aAgent({ streaming: true });
    folder = mkdtempSync(join(tmpdir(), 'a2a-'));
    writeFileSync(join(folder, 'agents.yml'), catalogue(agent.url, ', headers_env: {}'));
  });
  const remote = useOwnWorld(() => ({ environment: { AGENTS_FILE: join(folder, 'agents.yml') } }));
  before(() => {
    process.env['REMOTE_SERVICE_KEY'] = remote.installation.api_key;
  });
  const runs = useOwnRuns(() => ({
    agents: catalogue(publicUrl(remote), ', headers_env: { X-API-Key: REMOTE_SERVICE_KEY }'),
  }));
  after(async () => {
    await agent?.close();
    rmSync(folder, { recursive: true, force: true });
    delete process.env['REMOTE_SERVICE_KEY'];
  });

  /** Returns the run at the remote service that a run's step created. */
  const remoteRun = async (id: string) =>
    await eventually('the remote run exists', async () => {
      const { json } = await remote.send('GET', `/api/v1/tasks?metadata.execution_id=${id}`);
      return json.data.length > 0 && (json.data[0] as { execution_id: string; title: string });
    });

  it('does a step, and asks a question of its own agent, which a person answers here', async () => {
    agent.doing(({ text, first }, say) => {
      if (first) return say.ends(TaskState.TASK_STATE_INPUT_REQUIRED, 'Left or right?');
      say.ends(TaskState.TASK_STATE_COMPLETED, `It says: ${text}`);
    });
    const id = await runs.submit({ taskType: 'feature' });
    const paused = await runs.reaches(id, 'paused');
    assert.equal(paused.question?.text, 'Left or right?');
    await runs.control.continue(id, { by: 'user:ada@example.com', reason: 'right' });
    const row = await runs.reaches(id, 'completed');
    assert.match(JSON.stringify(row.output), /It says: right/);
    const { execution_id, title } = await remoteRun(id);
    assert.equal(title, 'Look around.');
    await remote.reaches(execution_id, 'completed');
    const { json } = await remote.send('GET', '/api/v1/tasks');
    assert.equal(json.data.length, 1, 'one run, although several messages were sent');
  });

  it('has its run cancelled with the run here', async () => {
    agent.doing(async ({ signal }, say) => {
      say.working('Looking for long');
      if (!signal.aborted) await once(signal, 'abort');
    });
    const id = await runs.submit({ taskType: 'feature' });
    const { execution_id } = await remoteRun(id);
    await eventually('its message arrives here', async () =>
      JSON.stringify(await runs.events(id)).includes('Looking for long'),
    );
    await runs.control.cancel(id, { by: 'test' });
    await runs.reaches(id, 'cancelled');
    await remote.reaches(execution_id, 'cancelled');
  });
});
