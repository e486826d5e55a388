import assert from 'node:assert/strict';
import {
  modelSettings,
  startModelServer,
  turnOf,
  type AskedModel,
  type ModelServer,
  type Reply,
} from '../support/model-server.ts';
import { startRuns, type Runs } from '../support/runs.ts';
import { useOwnWorld } from '../support/world.ts';

const catalogue = (url: string) => `
servers:
  remote: { url: '${url}', headers_env: { X-API-Key: REMOTE_SERVICE_KEY } }
agents:
  ada: { instructions: You are Ada., tools: [remote/*] }
defaults: { run_time_limit: 5 min, step_time_limit: 2 min, retry: { maximum_attempts: 1, initial_interval: 10 ms, backoff_coefficient: 1, maximum_interval: 10 ms } }
teams:
  feature: [{ step: choose, agent: ada }]
  bug: [{ step: choose, agent: ada }]
  spec: [{ step: choose, agent: ada }]
  chore: [{ step: choose, agent: ada }]
`;
const NOTES = 'Blue goes with everything.';
const TASK = {
  title: 'Choose a colour',
  task_type: 'chore',
  metadata: {
    rehearsal: {
      steps: 1,
      ask: { step: 1, question: 'Which colour?' },
      artifact: { step: 1, name: 'notes.md', text: NOTES },
    },
  },
};

/** Returns what the last call of the model returned. */
const lastResult = ({ messages }: AskedModel): string => JSON.stringify(messages.at(-1)?.content ?? '');
const found = (text: string, pattern: RegExp): string => pattern.exec(text)?.[1] ?? `nothing in ${text}`;

describe('an agent that submits a task to another service over MCP', () => {
  const remote = useOwnWorld();
  let server: ModelServer;
  let runs: Runs;
  let id = '';

  /** A model that hands the work over, answers its question and reads the document. */
  function reply(asked: AskedModel): Reply {
    const call = (name: string, given: object): Reply => ({
      calls: [{ name: `remote__${name}`, arguments: given }],
    });
    const result = lastResult(asked);
    const execution = { execution_id: id };
    switch (turnOf(asked)) {
      case 1:
        return call('submit_task', TASK);
      case 2:
        id = found(result, /execution_id\W+([0-9a-f-]{36})/);
        return call('wait_for_task', { execution_id: id });
      case 3:
        return call('continue_task', {
          ...execution,
          reason: 'Blue',
          question: found(result, /question\W+id\W+(\d+)/),
        });
      case 4:
        return call('wait_for_task', execution);
      case 5:
        return call('read_artifact', { ...execution, name: 'notes.md' });
      default:
        return { text: `The notes: ${result}` };
    }
  }

  before(async () => {
    process.env['REMOTE_SERVICE_KEY'] = remote.installation.api_key;
    server = await startModelServer(reply);
    runs = await startRuns({
      agents: catalogue(`${remote.api.url}/mcp`),
      environment: modelSettings(server),
    });
  });
  after(async () => {
    await runs?.close();
    await server?.close();
    delete process.env['REMOTE_SERVICE_KEY'];
  });

  it('answers its question and reads its document', async () => {
    const run = await runs.reaches(await runs.submit({ taskType: 'chore' }), 'completed');
    assert.ok(JSON.stringify(run.output).includes(NOTES), JSON.stringify(run.output));
    const { json: list } = await remote.send('GET', '/api/v1/tasks');
    assert.deepEqual(
      list.data.map((task: { execution_id: string; title: string; state: string }) => [
        task.execution_id,
        task.title,
        task.state,
      ]),
      [[id, TASK.title, 'completed']],
    );
    const { text } = await remote.send('GET', `/api/v1/tasks/${id}/events`);
    assert.match(text, /Blue/);
  });
});
