import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isTerminal } from '../../src/domain/tasks/task-states.ts';
import { modelSettings, startModelServer, turnOf, type ModelServer } from '../support/model-server.ts';
import { eventually } from '../support/eventually.ts';
import { startService, type Service } from '../support/service.ts';
import { teamText } from './model-world.ts';

const CALLS = 12;
const KILLED_AT = 7;

describe('a kill -9 of the worker during model call 7 of 12', function () {
  this.timeout(180_000);
  let server: ModelServer;
  let service: Service;
  let folder: string;
  before(async () => {
    server = await startModelServer(() => ({ text: 'Done.' }));
    folder = mkdtempSync(join(tmpdir(), 'baton-agents-'));
    const agentsFile = join(folder, 'agents.yml');
    writeFileSync(agentsFile, teamText().replaceAll(/(run|step)_time_limit: \d+ \w+/g, '$1_time_limit: 1 h'));
    service = await startService({ AGENTS_FILE: agentsFile, ...modelSettings(server) });
  });
  after(async () => {
    await service?.close();
    await server?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it('does not repeat the first six, and the run completes', async () => {
    let isHanging = true;
    server.answering((asked) => {
      const turn = turnOf(asked);
      if (turn === KILLED_AT && isHanging) return { trouble: 'hang' };
      return turn < CALLS
        ? { calls: [{ name: 'report_progress', arguments: { text: `call ${turn}` } }] }
        : { text: 'All twelve.' };
    });
    const { json } = await service.submit({ task_type: 'bug' });
    const path = `/api/v1/tasks/${json.execution_id}`;
    await eventually('call 7 is in progress', () => server.asked.length === KILLED_AT);
    await service.worker.kill();
    isHanging = false;
    await service.worker.start();
    const detail = await eventually(
      'the run ends',
      async () => {
        const answer = await service.send('GET', path);
        return isTerminal(answer.json.state) && answer.json;
      },
      120_000,
    );
    assert.equal(detail.state, 'completed');
    assert.equal(detail.steps[0].summary, 'All twelve.');
    assert.equal(detail.steps[0].attempt, 1);
    const turns = server.asked.map(turnOf);
    assert.deepEqual(turns, [1, 2, 3, 4, 5, 6, 7, 7, 8, 9, 10, 11, 12]);
    assert.deepEqual(detail.steps[0].usage, {
      input_tokens: server.tokens.input,
      output_tokens: server.tokens.output,
      model_calls: CALLS,
    });
    assert.deepEqual(detail.usage, detail.steps[0].usage);
    const events = (await service.send('GET', `${path}/events`)).json.data as {
      type: string;
      data: { text?: string };
    }[];
    assert.deepEqual(
      events.filter(({ type }) => type === 'step.progress').map(({ data }) => data.text),
      Array.from({ length: CALLS - 1 }, (_, index) => `call ${index + 1}`),
    );
  });
});
