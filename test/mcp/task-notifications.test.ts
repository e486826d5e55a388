import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { isTaskStatusNotificationV2, readAcceptedTaskIdsV2 } from '@modelcontextprotocol/ext-tasks/core/v2';
import { MAX_SUBSCRIBED_RESOURCES } from '../../src/domain/common/limits.ts';
import { addWorkspace } from '../support/people.ts';
import { useWorld } from '../support/world.ts';

const VERSION = '2026-07-28';
const CAPABLE = { elicitation: { form: {} }, extensions: { 'io.modelcontextprotocol/tasks': {} } };
const ASKING = { rehearsal: { steps: 1, ask: { step: 1, question: 'Which?' } } };

// oxlint-disable-next-line typescript/no-explicit-any -- messages of every kind
type Message = any;
type Options = { capabilities?: object; key?: string };

describe('notifications of tasks', () => {
  const world = useWorld();

  const submit = async (metadata: object = ASKING): Promise<string> =>
    (await world.submit({ metadata })).json.execution_id;
  const continued = (id: string, body: object = { reason: 'this' }) =>
    world.send('POST', `/api/v1/tasks/${id}/continue`, { body });

  async function listen(
    notifications: object,
    { capabilities = CAPABLE, key = world.installation.api_key }: Options = {},
  ): Promise<Response> {
    const meta = {
      'io.modelcontextprotocol/protocolVersion': VERSION,
      'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': capabilities,
    };
    const params = { notifications, _meta: meta };
    return await fetch(`${world.api.url}/mcp`, {
      method: 'POST',
      body: JSON.stringify({ jsonrpc: '2.0', id: 'listening', method: 'subscriptions/listen', params }),
      headers: {
        Accept: 'application/json, text/event-stream',
        'Content-Type': 'application/json',
        'MCP-Protocol-Version': VERSION,
        'Mcp-Method': 'subscriptions/listen',
        'X-API-Key': key,
      },
    });
  }

  /** Yields the messages of a stream. */
  async function* messagesOf(response: Response): AsyncGenerator<Message> {
    assert.ok(response.body);
    let text = '';
    for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      const events = text.split('\n\n');
      text = events.pop() ?? '';
      for (const event of events) {
        const data = event.split('\n').find((line) => line.startsWith('data: '));
        if (data !== undefined) yield JSON.parse(data.slice('data: '.length));
      }
    }
  }

  /** Returns the messages up to the first that `isLast` accepts, and closes the stream. */
  async function messagesUntil(
    response: Response,
    isLast: (message: Message) => boolean,
  ): Promise<Message[]> {
    const messages: Message[] = [];
    for await (const message of messagesOf(response)) {
      messages.push(message);
      if (isLast(message)) break;
    }
    return messages;
  }

  const refusalOf = async (response: Response) => ((await response.json()) as Message).error;
  const isNow = (status: string) => (message: Message) => message.params?.status === status;

  it('begin with the task as it is, and follow it to its end', async () => {
    const id = await submit();
    await world.reaches(id, 'paused');
    const response = await listen({ taskIds: [id] });
    const messages = [];
    for await (const message of messagesOf(response)) {
      messages.push(message);
      if (message.params?.status === 'input_required') await continued(id);
      if (message.params?.status === 'completed') break;
    }
    const [acknowledged, ...tasks] = messages;
    assert.equal(acknowledged.method, 'notifications/subscriptions/acknowledged');
    assert.deepEqual(readAcceptedTaskIdsV2(acknowledged.params), [id]);
    assert.equal(acknowledged.params.notifications.resourceSubscriptions, undefined);
    for (const task of tasks) {
      assert.ok(isTaskStatusNotificationV2(task), JSON.stringify(task));
      assert.equal(task.params.taskId, id);
      assert.equal(task.params['_meta']?.['io.modelcontextprotocol/subscriptionId'], 'listening');
    }
    const texts = tasks.map((task) => JSON.stringify(task));
    assert.equal(new Set(texts).size, texts.length, 'none is repeated without a change');
    assert.equal(tasks[0].params.status, 'input_required');
    assert.ok(tasks.at(-1).params.result);
  });

  it('come besides changes of resources, only of what the client has named', async () => {
    const [id, other] = [await submit(), await submit()];
    await Promise.all([world.reaches(id, 'paused'), world.reaches(other, 'paused')]);
    const uri = `baton://tasks/${id}/events`;
    const response = await listen({ taskIds: [id, other], resourceSubscriptions: [uri] });
    await continued(other);
    await world.reaches(other, 'completed');
    await continued(id);
    const messages = await messagesUntil(
      response,
      (message) => message.params?.taskId === id && isNow('completed')(message),
    );
    const changed = messages.filter(({ method }) => method === 'notifications/resources/updated');
    assert.ok(changed.length > 0);
    assert.deepEqual([...new Set(changed.map(({ params }) => params.uri))], [uri]);
    assert.deepEqual(messages[0].params.notifications, {
      resourceSubscriptions: [uri],
      taskIds: [id, other],
    });
  });

  it('say that a task works if the client cannot show forms', async () => {
    const id = await submit();
    await world.reaches(id, 'paused');
    const capabilities = { extensions: CAPABLE.extensions };
    const response = await listen({ taskIds: [id] }, { capabilities });
    const messages = await messagesUntil(response, ({ params }) => params?.taskId === id);
    assert.equal(messages.at(-1).params.status, 'working');
    await world.send('POST', `/api/v1/tasks/${id}/cancel`);
  });

  it('are refused without the extension, and for tasks that do not exist or belong to others', async () => {
    const id = await submit({ rehearsal: { steps: 1 } });
    const plain = await listen({ taskIds: [id] }, { capabilities: {} });
    assert.deepEqual((await refusalOf(plain)).data.requiredCapabilities, { extensions: CAPABLE.extensions });
    const stranger = await addWorkspace(world);
    for (const [taskId, options] of [
      [id, { key: stranger }],
      [randomUUID(), {}],
      ['../projects', {}],
    ] as const) {
      assert.match((await refusalOf(await listen({ taskIds: [taskId] }, options))).message, /not found/i);
    }
    const many = Array.from({ length: MAX_SUBSCRIBED_RESOURCES + 1 }, () => randomUUID());
    assert.match((await refusalOf(await listen({ taskIds: many }))).message, /Too many subscriptions/);
    assert.equal((await refusalOf(await listen({ taskIds: 'all' }))).code, -32_602);
  });
});
