import { TaskState } from '@a2a-js/sdk';
import { startA2aAgent, type A2aAgent } from '../support/a2a-agent.ts';
import { startRuns, type Runs } from '../support/runs.ts';

const me = { by: 'key:test' };

const catalogue = (url: string) => `
agents:
  scout: { instructions: Look around., a2a: '${url}' }
teams:
  feature: &team [{ step: look, agent: scout }]
  bug: *team
  spec: *team
  chore: *team
`;

/** One scenario per path of a remote agent. Each returns the id of its run. */
const PLAYS: Record<string, (runs: Runs, agent: A2aAgent) => Promise<string>> = {
  async 'with-remote-agent'(runs, agent) {
    agent.doing(({ first }, say) =>
      first
        ? say.ends(TaskState.TASK_STATE_INPUT_REQUIRED, 'Left or right?')
        : say.ends(TaskState.TASK_STATE_COMPLETED, 'Looked.'),
    );
    const id = await runs.submit({ taskType: 'bug' });
    await runs.reaches(id, 'paused');
    await runs.control.continue(id, { ...me, reason: 'left' });
    return id;
  },
  async 'with-remote-agent-asking-in-vain'(runs, agent) {
    agent.doing((_asked, say) => say.ends(TaskState.TASK_STATE_INPUT_REQUIRED, 'Left or right?'));
    const id = await runs.submit({ taskType: 'bug' });
    await runs.reaches(id, 'paused');
    await runs.control.cancel(id, me);
    return id;
  },
};

/** Plays the scenarios that are wanted. Calls `each` with every run that has ended. */
export async function playRemotes(
  isWanted: (name: string) => boolean,
  each: (name: string, id: string, runs: Runs) => Promise<void>,
): Promise<void> {
  const plays = Object.entries(PLAYS).filter(([name]) => isWanted(name));
  if (plays.length === 0) return;
  const agent = await startA2aAgent({ streaming: true });
  const runs = await startRuns({ agents: catalogue(agent.url) });
  try {
    for (const [name, play] of plays) {
      const id = await play(runs, agent);
      await runs.client.workflow
        .getHandle(id)
        .result()
        .catch(() => {});
      await each(name, id, runs);
    }
  } finally {
    await runs.close();
    await agent.close();
  }
}
