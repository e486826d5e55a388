import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { isCreateTaskResultV2, isDetailedTaskV2 } from '@modelcontextprotocol/ext-tasks/core/v2';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { MAX_REASON_LENGTH } from '../../src/domain/common/limits.ts';
import { keyWith } from '../api/keys.ts';
import { addWorkspace } from '../support/people.ts';
import { eventually } from '../support/eventually.ts';
import { useWorld } from '../support/world.ts';

const EXTENSION = 'io.modelcontextprotocol/tasks';
const VERSION = '2026-07-28';
const CAPABLE = { elicitation: { form: {} }, extensions: { [EXTENSION]: {} } };

type Form = { message: string; requestedSchema: { properties: { answer: { maxLength: number } } } };
type Options = { capabilities?: object; key?: string };

describe('the Tasks extension', () => {
  const world = useWorld();

  /** Sends one request of the newest protocol, and returns the response. */
  async function request(
    method: string,
    params: Record<string, unknown>,
    { capabilities = CAPABLE, key }: Options = {},
  ) {
    const meta = {
      'io.modelcontextprotocol/protocolVersion': VERSION,
      'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': capabilities,
    };
    const { json } = await world.send('POST', '/mcp', {
      ...(key === undefined ? {} : { key }),
      body: { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: meta } },
      headers: {
        Accept: 'application/json, text/event-stream',
        'MCP-Protocol-Version': VERSION,
        'Mcp-Method': method,
        'Mcp-Name': String(params['name'] ?? params['taskId']),
      },
    });
    return json;
  }
  const submit = async (rehearsal: object, options: Options = {}) => {
    const args = { title: 'A task', metadata: { rehearsal: { steps: 1, ...rehearsal } } };
    return (await request('tools/call', { name: 'submit_task', arguments: args }, options)).result;
  };
  const get = async (taskId: string, options: Options = {}) => {
    const { result } = await request('tasks/get', { taskId }, options);
    assert.ok(isDetailedTaskV2(result), JSON.stringify(result));
    // oxlint-disable-next-line typescript/no-explicit-any -- the tests read tasks of every status
    return result as any;
  };
  const reaches = (taskId: string, status: string) =>
    eventually(`the task is ${status}`, async () => {
      const task = await get(taskId);
      return task.status === status && task;
    });

  it('is declared', async () => {
    const { result } = await request('server/discover', {});
    assert.deepEqual(result.capabilities.extensions, { [EXTENSION]: {} });
  });

  it('returns a task, which ends with the result of the run', async () => {
    const created = await submit({});
    assert.ok(isCreateTaskResultV2(created), JSON.stringify(created));
    assert.equal(created.ttlMs, null);
    const { json: run } = await world.send('GET', `/api/v1/tasks/${created.taskId}`);
    assert.equal(created.createdAt, run.created_at);
    const task = await reaches(created.taskId, 'completed');
    assert.equal(task.resultType, 'complete');
    assert.equal(task.result.structuredContent.state, 'completed');
    assert.equal(task.result.isError, undefined);
    assert.ok(task.lastUpdatedAt > task.createdAt);
  });

  it('ends a task with a result that the output schema of its tool allows', async () => {
    const { tools } = (await request('tools/list', {})).result;
    const { taskId } = await submit({});
    await reaches(taskId, 'completed');
    const rerun = await request('tools/call', { name: 'rerun_task', arguments: { execution_id: taskId } });
    const results = { submit_task: taskId, rerun_task: rerun.result.taskId };
    for (const [name, id] of Object.entries(results)) {
      const { result } = await reaches(id, 'completed');
      const ajv = new Ajv2020({ strict: false });
      addFormats.default(ajv);
      const { outputSchema } = tools.find((tool: { name: string }) => tool.name === name);
      assert.ok(ajv.validate(outputSchema, result.structuredContent), `${name}: ${ajv.errorsText()}`);
    }
  });

  it('reports a run that failed as a result with an error', async () => {
    const { taskId } = await submit({ unrecoverable: { step: 1 } });
    const task = await reaches(taskId, 'completed');
    assert.equal(task.result.isError, true);
    assert.match(task.statusMessage, /^Failed: /);
  });

  it('asks the question of an agent, and takes the answer once', async () => {
    const { taskId } = await submit({ ask: { step: 1, question: 'Which colour?' } });
    const task = await reaches(taskId, 'input_required');
    const [[key, form]] = Object.entries<Record<string, never>>(task.inputRequests) as [[string, never]];
    const { method, params } = form as { method: string; params: Form };
    assert.deepEqual([method, params.message], ['elicitation/create', 'Which colour?']);
    assert.equal(params.requestedSchema.properties.answer.maxLength, MAX_REASON_LENGTH);
    const answer = (responses: object) => request('tasks/update', { taskId, inputResponses: responses });
    const response = { action: 'accept', content: { answer: 'Green' } };
    assert.equal((await answer({ other: response })).result.resultType, 'complete');
    assert.equal(
      (await get(taskId)).status,
      'input_required',
      'an answer to another question changes nothing',
    );
    for (const wrong of [5, 'x'.repeat(MAX_REASON_LENGTH + 1)]) {
      const refused = await answer({ [key]: { action: 'accept', content: { answer: wrong } } });
      assert.equal(refused.error.code, -32_602);
    }
    assert.equal((await answer({ [key]: { action: 'cancel' } })).result.resultType, 'complete');
    assert.equal((await get(taskId)).status, 'input_required', 'a closed form is no answer');
    assert.equal((await answer({ [key]: response })).result.resultType, 'complete');
    await reaches(taskId, 'completed');
    assert.equal((await answer({ [key]: response })).result.resultType, 'complete');
    const { text } = await world.send('GET', `/api/v1/tasks/${taskId}/events`);
    assert.equal(text.split('"Green"').length, 2, text);
  });

  it('tells clients without forms how to answer', async () => {
    const { taskId } = await submit({ ask: { step: 1, question: 'Which colour?' } });
    await reaches(taskId, 'input_required');
    const task = await get(taskId, { capabilities: { extensions: { [EXTENSION]: {} } } });
    assert.deepEqual([task.status, task.inputRequests], ['working', undefined]);
    assert.match(task.statusMessage, /continue_task.*Which colour\?/);
  });

  it('cancels a run, and accepts a repeated request', async () => {
    const { taskId } = await submit({ step_ms: 60_000 });
    assert.equal((await request('tasks/cancel', { taskId })).result.resultType, 'complete');
    await reaches(taskId, 'cancelled');
    assert.equal((await request('tasks/cancel', { taskId })).result.resultType, 'complete');
  });

  it('is not used for clients that do not declare it', async () => {
    const result = await submit({}, { capabilities: {} });
    assert.equal(result.resultType, 'complete');
    const taskId = result.structuredContent.execution_id;
    for (const method of ['tasks/get', 'tasks/cancel']) {
      const { error } = await request(method, { taskId }, { capabilities: {} });
      assert.equal(error.code, -32_021, method);
      assert.deepEqual(error.data.requiredCapabilities, { extensions: { [EXTENSION]: {} } });
    }
  });

  it('is not used for keys that could not follow the task', async () => {
    const result = await submit({}, { key: await keyWith(world, ['tasks:write']) });
    assert.equal(result.resultType, 'complete');
    assert.ok(result.structuredContent.execution_id);
  });

  it('refuses unknown tasks and those of others, and methods that it does not have', async () => {
    const stranger = { key: await addWorkspace(world) };
    const { taskId } = await submit({ step_ms: 60_000 });
    for (const method of ['tasks/get', 'tasks/cancel', 'tasks/update']) {
      const unknown = await request(method, { taskId: randomUUID(), inputResponses: {} });
      assert.equal(unknown.error.code, -32_602, method);
      const foreign = await request(method, { taskId, inputResponses: {} }, stranger);
      assert.deepEqual(foreign.error.message, unknown.error.message, method);
      assert.equal((await request(method, { taskId: 'x', inputResponses: {} })).error.code, -32_602, method);
      assert.equal((await request(method, { inputResponses: 1 })).error.code, -32_602, method);
    }
    for (const method of ['tasks/list', 'tasks/result']) {
      assert.equal((await request(method, { taskId })).error.code, -32_601, method);
    }
    await request('tasks/cancel', { taskId });
  });
});
