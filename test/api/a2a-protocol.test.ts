import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { eventually } from '../support/eventually.ts';
import { useWorld, type Received } from '../support/world.ts';
import { a2aMessage } from './a2a-message.ts';

/*
 * Requirements of A2A 1.0 for what a client receives as JSON, which the protocol's own clients do not check. Section numbers are
 * those of the specification.
 */

const VERSION = { 'A2A-Version': '1.0' };
/** Section 5.6.1. */
const UTC = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z$/;
const UNSUPPORTED = -32_004;

type Call = (method: string, params: Record<string, unknown>) => Promise<Received>;
// oxlint-disable-next-line typescript/no-explicit-any -- JSON of every shape
type Json = any;

describe('A2A over JSON-RPC and HTTP+JSON', function () {
  const world = useWorld();

  const rpc: Call = (method, params) =>
    world.send('POST', '/a2a', { body: { jsonrpc: '2.0', id: 'an-id', method, params }, headers: VERSION });
  const rest = (verb: string, path: string, body?: unknown) =>
    world.send(verb, `/a2a${path}`, { ...(body === undefined ? {} : { body }), headers: VERSION });
  const bodyOf = (rehearsal: object, fields: object = {}) => ({
    message: a2aMessage({ metadata: { rehearsal }, ...fields }),
  });
  const send = async (rehearsal: object, fields: object = {}): Promise<Json> => {
    const { json, text } = await rpc('SendMessage', bodyOf(rehearsal, fields));
    assert.ok(json.result?.task, text);
    return json.result.task;
  };
  const asking = () => send({ steps: 1, ask: { step: 1, question: 'Why?' } });
  const answered = (taskId: string) =>
    rpc('SendMessage', {
      message: a2aMessage({ parts: [{ text: 'Because' }], taskId }),
    });
  /** Returns the results of a method over both bindings. */
  const both = async (method: string, params: Record<string, unknown>, path: string): Promise<Json[]> => [
    (await rpc(method, params)).json.result,
    (await rest('GET', path)).json,
  ];

  it('list the task that changed last first, with the time of its change (3.1.4)', async () => {
    const contextId = randomUUID();
    const first = await send({ steps: 1, ask: { step: 1, question: 'Why?' } }, { contextId });
    const second = await send({ steps: 1 }, { contextId });
    const list = () => both('ListTasks', { contextId }, `/tasks?contextId=${contextId}`);
    const idsIn = ({ tasks }: Json) => tasks.map(({ id }: Json) => id);
    for (const result of await list()) assert.deepEqual(idsIn(result), [second.id, first.id]);
    const [before] = await list();
    const changedSince = async (since: string) => {
      const filter = { contextId, statusTimestampAfter: since };
      return await both('ListTasks', filter, `/tasks?${new URLSearchParams(filter).toString()}`);
    };
    for (const result of await changedSince(before.tasks[1].status.timestamp))
      assert.deepEqual([idsIn(result), result.totalSize], [[second.id, first.id], 2], 'one is still open');
    await answered(first.id);
    for (const result of await list()) {
      assert.deepEqual(idsIn(result), [first.id, second.id]);
      const times = result.tasks.map(({ status }: Json) => status.timestamp);
      assert.ok(times[0] > before.tasks[0].status.timestamp && times[0] > times[1], times.join());
    }
    const since = (await list())[0].tasks[0].status.timestamp;
    for (const result of await changedSince(since))
      assert.deepEqual([idsIn(result), result.totalSize], [[first.id], 1]);
  });

  it('list pages whose last one has an empty token, and no artifacts unless they are requested (3.1.4)', async () => {
    const contextId = randomUUID();
    const ids: string[] = [];
    for (let count = 0; count < 3; count += 1) ids.unshift((await send({ steps: 1 }, { contextId })).id);
    let query = `/tasks?contextId=${contextId}&pageSize=2`;
    const [first, sameFirst] = await both('ListTasks', { contextId, pageSize: 2 }, query);
    assert.deepEqual(first, sameFirst);
    query += `&pageToken=${first.nextPageToken}`;
    const params = { contextId, pageSize: 2, pageToken: first.nextPageToken };
    const [second, sameSecond] = await both('ListTasks', params, query);
    assert.deepEqual(second, sameSecond);
    assert.deepEqual(
      [...first.tasks, ...second.tasks].map(({ id }: Json) => id),
      ids,
    );
    assert.strictEqual(second.nextPageToken, '');
    assert.deepEqual([first.totalSize, first.pageSize, second.totalSize], [3, 2, 3]);
    for (const task of first.tasks) assert.ok(!('artifacts' in task) && !('history' in task));
    const [full] = await both('ListTasks', { contextId, includeArtifacts: true }, '/tasks');
    assert.deepEqual(
      full.tasks.map(({ artifacts }: Json) => artifacts.length),
      [1, 1, 1],
    );
    const [none] = await both('ListTasks', { contextId: randomUUID() }, '/tasks');
    assert.deepEqual(none, { tasks: [], nextPageToken: '', pageSize: 50, totalSize: 0 });
  });

  it('return at most the requested messages, and no history for 0 (3.2.4)', async () => {
    const { id } = await asking();
    await answered(id);
    for (const length of [0, 1, 2, 100]) {
      const tasks = await both(
        'GetTask',
        { id, historyLength: length },
        `/tasks/${id}?historyLength=${length}`,
      );
      for (const { history } of tasks) {
        if (length === 0) assert.equal(history, undefined);
        else assert.equal(history.length, Math.min(length, 4), JSON.stringify(history));
      }
    }
    const { json } = await rpc('SendMessage', {
      ...bodyOf({ steps: 1 }),
      configuration: { historyLength: 0 },
    });
    assert.equal(json.result.task.history, undefined);
  });

  it('have names in camelCase, enumerations as text, and times in UTC (5.5, 5.6)', async () => {
    const { id } = await send({
      steps: 1,
      artifact: { step: 1, name: 'notes.md', media_type: 'text/markdown', text: '# Notes' },
    });
    for (const task of await both('GetTask', { id }, `/tasks/${id}`)) {
      assert.equal(task.status.state, 'TASK_STATE_COMPLETED');
      assert.match(task.status.timestamp, UTC);
      assert.deepEqual(
        task.history.map(({ role }: Json) => role),
        task.history.map((_: Json, index: number) => (index === 0 ? 'ROLE_USER' : 'ROLE_AGENT')),
      );
      assert.deepEqual(
        namesIn(task).filter((name) => name.includes('_')),
        [],
      );
      assert.deepEqual(
        task.artifacts.map(({ artifactId, parts }: Json) => [artifactId, ...parts.map(contentOf)]),
        [
          ['notes.md', 'text'],
          ['/output', 'data'],
        ],
      );
    }
  });

  it('are responses and streams of the declared types, in an envelope with the id of the request (9.1, 9.4.2, 11.7)', async () => {
    const { id } = await send({ steps: 1 });
    const one = await rpc('GetTask', { id });
    assert.match(one.headers.get('content-type') ?? '', /^application\/json/);
    assert.deepEqual(Object.keys(one.json).toSorted(), ['id', 'jsonrpc', 'result']);
    assert.deepEqual([one.json.id, one.json.jsonrpc], ['an-id', '2.0']);
    const streams = [
      await rpc('SendStreamingMessage', bodyOf({ steps: 2 })),
      await rest('POST', '/message:stream', bodyOf({ steps: 2 })),
    ];
    for (const [index, stream] of streams.entries()) {
      assert.match(stream.headers.get('content-type') ?? '', /^text\/event-stream/);
      const items = eventsOf(stream.text);
      if (index === 0)
        for (const item of items)
          assert.deepEqual([item.jsonrpc, item.id, item.error], ['2.0', 'an-id', undefined]);
      const responses = items.map((item) => item.result ?? item);
      for (const response of responses)
        assert.equal(Object.keys(response).length, 1, JSON.stringify(response));
      assert.ok(responses[0].task);
      assert.equal(responses.at(-1).statusUpdate.status.state, 'TASK_STATE_COMPLETED');
    }
  });

  it('send the same updates to all streams of a task, and to the others after one was closed (3.5.2)', async () => {
    const { id } = await asking();
    const open = async () => {
      const controller = new AbortController();
      const response = await fetch(`${world.api.url}/a2a/tasks/${id}:subscribe`, {
        method: 'POST',
        headers: { ...VERSION, 'X-API-Key': world.installation.api_key },
        signal: controller.signal,
      });
      assert.equal(response.status, 200);
      return { response, close: () => controller.abort() };
    };
    const [closed, ...kept] = await Promise.all([open(), open(), open()]);
    const reader = closed.response.body?.getReader();
    assert.match(new TextDecoder().decode((await reader?.read())?.value), /TASK_STATE_INPUT_REQUIRED/);
    closed.close();
    await answered(id);
    const [one, other] = await Promise.all(kept.map(async ({ response }) => eventsOf(await response.text())));
    assert.deepEqual(one, other);
    assert.equal(one?.at(-1).statusUpdate.status.state, 'TASK_STATE_COMPLETED');
    for (const { json } of [await rpc('SubscribeToTask', { id }), await answered(id)])
      assert.equal(json.error.code, UNSUPPORTED);
  });

  it('configure push notifications of an ended task, and delete them twice (3.1.7, 3.1.10)', async () => {
    const { id } = await send({ steps: 1 });
    const path = `/tasks/${id}/pushNotificationConfigs`;
    const config = { id: 'main', url: 'https://example.com/updates' };
    for (const created of [
      (await rpc('CreateTaskPushNotificationConfig', { taskId: id, ...config })).json.result,
      (await rest('POST', path, config)).json,
    ])
      assert.deepEqual(created, { taskId: id, ...config });
    for (const read of await both(
      'GetTaskPushNotificationConfig',
      { taskId: id, id: 'main' },
      `${path}/main`,
    ))
      assert.deepEqual(read, { taskId: id, ...config });
    for (const { configs } of await both('ListTaskPushNotificationConfigs', { taskId: id }, path))
      assert.deepEqual(configs, [{ taskId: id, ...config }]);
    for (const _ of [1, 2]) {
      const { json } = await rpc('DeleteTaskPushNotificationConfig', { taskId: id, id: 'main' });
      assert.deepEqual(json.result, {});
      assert.equal((await rest('DELETE', `${path}/main`)).status, 200);
    }
    const missing = await rest('GET', `${path}/main`);
    assert.deepEqual([missing.status, missing.json.error.details[0].reason], [404, 'TASK_NOT_FOUND']);
  });

  it('ignore extensions and fields that are unknown (3.2.6, 5.7)', async () => {
    const headers = { ...VERSION, 'A2A-Extensions': 'https://example.com/a/v1,https://example.com/b/v1' };
    const body = { ...bodyOf({ steps: 1 }, { unknown: 'x' }), unknown: 1 };
    const { status, json } = await world.send('POST', '/a2a/message:send', { body, headers });
    assert.deepEqual([status, json.task?.status.state], [200, 'TASK_STATE_COMPLETED']);
  });

  it('cancel a task once, with the state of the cancellation (3.1.5)', async () => {
    const { id } = await asking();
    const { json } = await rest('POST', `/tasks/${id}:cancel`);
    assert.equal(json.id, id);
    await world.reaches(id, 'cancelled');
    assert.equal((await rest('GET', `/tasks/${id}`)).json.status.state, 'TASK_STATE_CANCELED');
    const { id: done } = await send({ steps: 1 });
    const refused = await rest('POST', `/tasks/${done}:cancel`);
    const { code, details } = refused.json.error;
    assert.deepEqual([refused.status, code, details[0].reason], [400, 400, 'TASK_NOT_CANCELABLE']);
    assert.equal(details[0].domain, 'a2a-protocol.org');
  });

  it('describe themselves in a card with all required fields, which may be cached (4.4.1, 8.6)', async () => {
    const { json: card, headers } = await world.send('GET', '/.well-known/agent-card.json', { key: null });
    for (const name of ['name', 'description', 'version']) assert.equal(typeof card[name], 'string', name);
    for (const name of ['skills', 'supportedInterfaces', 'defaultInputModes', 'defaultOutputModes'])
      assert.ok(card[name].length > 0, name);
    assert.deepEqual(
      card.supportedInterfaces.map((one: Json) => [one.protocolBinding, one.protocolVersion]),
      [
        ['JSONRPC', '1.0'],
        ['HTTP+JSON', '1.0'],
      ],
    );
    for (const one of card.supportedInterfaces) assert.ok(one.url.endsWith('/a2a'));
    for (const skill of card.skills)
      assert.ok(skill.id && skill.name && skill.description && skill.tags.length > 0);
    assert.match(headers.get('cache-control') ?? '', /max-age=\d+/);
    assert.ok(headers.get('etag'));
  });

  it('return at once if requested, and otherwise when the task has ended or asks (3.2.2)', async () => {
    const now = await rpc('SendMessage', {
      ...bodyOf({ steps: 1, step_ms: 60_000 }),
      configuration: { returnImmediately: true },
    });
    const { id, status } = now.json.result.task;
    assert.ok(['TASK_STATE_SUBMITTED', 'TASK_STATE_WORKING'].includes(status.state), status.state);
    await eventually('the task is cancelled', async () => {
      const { json } = await rpc('CancelTask', { id });
      return json.result?.status.state === 'TASK_STATE_CANCELED';
    });
    assert.equal((await send({ steps: 2 })).status.state, 'TASK_STATE_COMPLETED');
    assert.equal((await asking()).status.state, 'TASK_STATE_INPUT_REQUIRED');
  });
});

/** Returns the names of all fields of the protocol. Names in metadata and in data are not the protocol's. */
function namesIn(value: Json): string[] {
  if (Array.isArray(value)) return value.flatMap(namesIn);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) =>
    name === 'metadata' || name === 'data' ? [name] : [name, ...namesIn(inner)],
  );
}

/** Returns the kind of content of a part. A part has exactly one (4.1.6). */
function contentOf(part: Json): string {
  const kinds = ['text', 'raw', 'url', 'data'].filter((kind) => kind in part);
  assert.equal(kinds.length, 1, JSON.stringify(part));
  return kinds[0] ?? '';
}

/** Returns the data of server-sent events. */
function eventsOf(text: string): Json[] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('data: '))
    .map((line) => JSON.parse(line.slice(6)));
}
