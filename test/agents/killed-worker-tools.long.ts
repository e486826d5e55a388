import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TaskState } from '@a2a-js/sdk';
import { isTerminal } from '../../src/domain/tasks/task-states.ts';
import { startA2aAgent, type A2aAgent } from '../support/a2a-agent.ts';
import {
  modelSettings,
  saidIn,
  startModelServer,
  turnOf,
  type ModelServer,
} from '../support/model-server.ts';
import { eventually } from '../support/eventually.ts';
import { startService, withTemporal, type Service } from '../support/service.ts';
import { isRunning } from './running.ts';

const SUPPORT = join(import.meta.dirname, '../support');

const catalogue = (scout: string) => `
servers:
  bad: { command: ${process.execPath}, args: [${SUPPORT}/mcp-misbehaving.ts] }
agents:
  ada: { instructions: You are Ada., model: openai-compatible/test, tools: [bad/hang, bad/pid] }
  prog: { instructions: Do as the title says., command: [${process.execPath}, ${SUPPORT}/command-agent.ts] }
  scout: { instructions: Look around., a2a: '${scout}' }
teams:
  feature: [{ step: one, agent: ada }]
  bug: [{ step: one, agent: prog }]
  spec: [{ step: one, agent: scout }]
  chore: [{ step: one, agent: prog }]
`;

describe('a kill -9 of the worker', function () {
  this.timeout(180_000);
  let model: ModelServer;
  let scout: A2aAgent;
  let service: Service;
  let folder: string;

  before(async () => {
    model = await startModelServer(() => ({ text: 'Done.' }));
    scout = await startA2aAgent({ streaming: true });
    folder = mkdtempSync(join(tmpdir(), 'baton-agents-'));
    writeFileSync(join(folder, 'agents.yml'), catalogue(scout.url));
    service = await startService({ AGENTS_FILE: join(folder, 'agents.yml'), ...modelSettings(model) });
  });
  after(async () => {
    await service?.close();
    await Promise.all([model?.close(), scout?.close()]);
    rmSync(folder, { recursive: true, force: true });
  });

  afterEach(() => service.restore());

  it('during a call of a non-repeatable tool gives the agent an error, and the run completes', async () => {
    model.answering((asked) => {
      if (turnOf(asked) > 1) return { text: 'Went on.' };
      return { calls: [{ name: 'bad__hang', arguments: {} }] };
    });
    const id = await submitted('feature');
    await eventually('the call has started', () => logged('hanging from now on'));
    await killAlone();
    const { state, steps } = await ended(id);
    assert.equal(state, 'completed');
    assert.equal(steps[0].summary, 'Went on.');
    const last = model.asked.at(-1) ?? assert.fail('the model was not called');
    assert.match(saidIn(last), /unknown whether it took effect/);
    assert.equal(workerLog().split('hanging from now on').length - 1, 1);
    const { json } = await service.send('GET', `/api/v1/tasks/${id}/calls?kind=tool`);
    assert.equal(json.data.length, 1);
  });

  it("ends the worker's programs, and the next worker starts them again", async () => {
    const id = await submitted('bug', 'is repeated');
    const [message] = await eventually('its message is recorded', async () => {
      const texts = await messagesOf(id);
      return texts.length > 0 && texts;
    });
    const pid = Number(message?.replace('pid ', ''));
    assert.ok(isRunning(pid));
    await killAlone();
    await eventually('the program has ended', () => !isRunning(pid));
    const { state, steps } = await ended(id);
    assert.deepEqual([state, steps[0].summary, steps[0].attempt], ['completed', 'done by the second', 1]);
  });

  it('does not cancel the task of a remote agent, which the next worker polls', async () => {
    const released = Promise.withResolvers<void>();
    scout.doing(async (_asked, say) => {
      say.working('Looking');
      await released.promise;
      say.ends(TaskState.TASK_STATE_COMPLETED, 'Found.');
    });
    const id = await submitted('spec');
    try {
      await eventually('its message is recorded', async () => (await messagesOf(id)).length > 0);
      // The heartbeat carries the id of the task.
      await eventually('a heartbeat', async () => (await heartbeatOf(id)).includes('contextId'));
      await killAlone();
    } finally {
      released.resolve();
    }
    const { state, steps } = await ended(id);
    assert.deepEqual([state, steps[0].summary], ['completed', 'Found.']);
    assert.equal(scout.messages.length, 1);
    assert.deepEqual(scout.cancelled, []);
  });

  async function submitted(task_type: string, title = 'A task'): Promise<string> {
    const { status, json, text } = await service.submit({ task_type, title });
    assert.equal(status, 201, text);
    return json.execution_id;
  }
  /** Kills the worker, but not its child processes, and starts another worker. */
  async function killAlone(): Promise<void> {
    process.kill(service.worker.pid(), 'SIGKILL');
    await eventually('the end of the worker', () => !service.worker.isRunning());
    await service.worker.start();
  }
  const workerLog = () => readFileSync(join(service.folder, 'worker.log'), 'utf8');
  const logged = (words: string) => workerLog().includes(words);
  async function messagesOf(id: string): Promise<string[]> {
    const { json } = await service.send('GET', `/api/v1/tasks/${id}/events`);
    return (json.data as { type: string; data: { text: string } }[])
      .filter(({ type }) => type === 'agent.message')
      .map(({ data }) => data.text);
  }
  async function ended(id: string) {
    return await eventually(
      'the end of the run',
      async () => {
        const { json } = await service.send('GET', `/api/v1/tasks/${id}`);
        return isTerminal(json.state) && json;
      },
      120_000,
    );
  }
  async function heartbeatOf(id: string): Promise<string> {
    const { raw } = await withTemporal(service, ({ workflow }) => workflow.getHandle(id).describe());
    const [details] = raw.pendingActivities?.[0]?.heartbeatDetails?.payloads ?? [];
    return Buffer.from(details?.data ?? []).toString();
  }
});
