import assert from 'node:assert/strict';
import { TaskState } from '@a2a-js/sdk';
import { startA2aAgent, type A2aAgent } from '../support/a2a-agent.ts';
import { eventually } from '../support/eventually.ts';
import { useOwnRuns } from '../support/runs.ts';

const catalogue = (url: string) => `
agents: { scout: { instructions: Look around., a2a: '${url}' } }
teams:
${['feature', 'bug', 'spec', 'chore'].map((type) => `  ${type}: [{ step: look, agent: scout }]`).join('\n')}
`;

describe('an A2A agent', function () {
  let scout: A2aAgent;
  before(async () => {
    scout = await startA2aAgent({ streaming: true });
  });
  const runs = useOwnRuns(() => ({ agents: catalogue(scout.url) }));
  after(() => scout?.close());

  it('continues its task after a restart of the worker', async () => {
    const restarted = Promise.withResolvers<void>();
    scout.doing(async (_asked, say) => {
      say.working('Looking');
      await restarted.promise;
      say.ends(TaskState.TASK_STATE_COMPLETED, 'Found at last.');
    });
    const id = await runs.submit();
    await eventually('the agent works', async () =>
      (await runs.events(id)).some(({ type }) => type === 'agent.message'),
    );
    await runs.restartWorker();
    restarted.resolve();
    const row = await runs.reaches(id, 'completed');
    assert.match(JSON.stringify(row.output), /Found at last\./);
    assert.equal(scout.messages.length, 1);
    assert.deepEqual(scout.cancelled, []);
  });
});
