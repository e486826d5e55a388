import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { MAX_A2A_PUSH_CONFIGS } from '../../src/domain/common/limits.ts';
import { signature } from '../../src/outbound/sign.ts';
import { useCallbackReceiver } from '../support/callback-receiver.ts';
import { eventually } from '../support/eventually.ts';
import { addWorkspace } from '../support/people.ts';
import type { ReceivedRequest } from '../support/receiver.ts';
import { useWorld, type Sent } from '../support/world.ts';
import { keyWith } from './keys.ts';
import { a2aMessage } from './a2a-message.ts';

const VERSION = { 'A2A-Version': '1.0' };
const TOKEN = 'a-token-of-the-client';
const CREDENTIALS = 'the-credentials-of-the-receiver';
const INVALID_PARAMS = -32_602;

type ListedEvent = { seq: number; at: string; data: { to?: string; state?: string } };

describe('A2A push notifications', function () {
  const world = useWorld();
  const receiver = useCallbackReceiver('each test');

  const rpc = async (method: string, params: unknown, sent: Sent = {}) =>
    (
      await world.send('POST', '/a2a', {
        ...sent,
        body: { jsonrpc: '2.0', id: 7, method, params },
        headers: VERSION,
      })
    ).json;
  const send = async (rehearsal: object, push?: object, fields: object = {}) =>
    await rpc('SendMessage', {
      message: a2aMessage({ metadata: { rehearsal }, ...fields }),
      configuration: { returnImmediately: true, ...(push ? { taskPushNotificationConfig: push } : {}) },
    });
  const submitted = async (rehearsal: object, push?: object): Promise<string> =>
    (await send(rehearsal, push)).result.task.id;
  const config = (fields: object = {}) => ({
    url: receiver.url,
    token: TOKEN,
    authentication: { scheme: 'Bearer', credentials: CREDENTIALS },
    ...fields,
  });
  const attempts = async (id: string, sent: Sent = {}) =>
    (await world.send('GET', `/api/v1/tasks/${id}/push-notifications`, sent)).json.data;
  const updateIn = ({ body }: ReceivedRequest) => JSON.parse(body.toString()).statusUpdate;
  const statesIn = (requests: readonly ReceivedRequest[]) =>
    requests.map((request) => updateIn(request).status.state);
  const isOver = (id: string) =>
    eventually('the end was sent', () =>
      receiver.requests.some((request) => {
        const { taskId, metadata } = updateIn(request);
        return taskId === id && metadata.type === 'run.ended';
      }),
    );

  it('send each change of the state, in order, with the token, the authentication and a signature', async () => {
    const id = await submitted({ steps: 1, ask: { step: 1, question: 'Why?' } }, config());
    await eventually('the question was sent', () =>
      statesIn(receiver.requests).includes('TASK_STATE_INPUT_REQUIRED'),
    );
    await send({}, undefined, { taskId: id, parts: [{ text: 'Because' }], metadata: {} });
    await isOver(id);
    const states = statesIn(receiver.requests);
    assert.deepEqual(
      states.filter((state, index) => state !== states[index - 1]),
      ['TASK_STATE_WORKING', 'TASK_STATE_INPUT_REQUIRED', 'TASK_STATE_WORKING', 'TASK_STATE_COMPLETED'],
    );
    const { data } = (await world.send('GET', `/api/v1/tasks/${id}/events`)).json;
    const ends = ['completed'];
    const expected = data.filter(
      ({ type, data: { to } }: { type: string; data: { to?: string } }) =>
        type === 'run.ended' || (type === 'state.changed' && !ends.includes(to ?? '')),
    );
    assert.deepEqual(
      receiver.requests.map((request) => updateIn(request).metadata.seq),
      expected.map(({ seq }: { seq: number }) => seq),
    );
    for (const { headers, body, method } of receiver.requests) {
      assert.equal(method, 'POST');
      assert.equal(headers['content-type'], 'application/a2a+json');
      assert.equal(headers['x-a2a-notification-token'], TOKEN);
      assert.equal(headers.authorization, `Bearer ${CREDENTIALS}`);
      assert.equal(headers['x-service-signature'], signature(TOKEN, body));
    }
    assert.deepEqual(
      receiver.requests.map(({ headers }) =>
        ['event', 'delivery', 'timestamp'].map((name) => headers[`x-service-${name}`]),
      ),
      expected.map(({ seq, at, data: { to, state } }: ListedEvent) => [
        `task.${to ?? state}`,
        `${id}:${seq}`,
        at,
      ]),
    );
    const question = receiver.requests.find(
      (request) => updateIn(request).status.state === 'TASK_STATE_INPUT_REQUIRED',
    );
    assert.equal(updateIn(question as ReceivedRequest).status.message.parts[0].text, 'Why?');
  });

  it('are repeated like callbacks, and the next ones wait; the log has each attempt without secrets', async () => {
    const id = await submitted({ steps: 1, ask: { step: 1, question: 'Why?' } });
    await world.reaches(id, 'paused');
    receiver.answering((request, response) => {
      if (receiver.requests.length > 3) return 204;
      response.writeHead(500).end(`${request.headers.authorization} ${TOKEN}`);
      return undefined;
    });
    const created = await rpc('CreateTaskPushNotificationConfig', config({ taskId: id, id: 'main' }));
    assert.equal(created.result.id, 'main', JSON.stringify(created));
    await send({}, undefined, { taskId: id, parts: [{ text: 'Because' }], metadata: {} });
    await isOver(id);
    const [first, second, third, next] = receiver.requests.map((request) => updateIn(request).metadata.seq);
    assert.ok(first === second && second === third && third < next, `${first}, ${second}, ${third}, ${next}`);
    const logged = await eventually('all attempts ended', async () => {
      const data = await attempts(id);
      return data.every((one: { completed_at: string }) => one.completed_at) && data;
    });
    assert.deepEqual(
      logged
        .slice(0, 4)
        .map((one: Record<string, unknown>) => [one['config_id'], one['attempt'], one['response_status']]),
      [
        ['main', 1, 500],
        ['main', 2, 500],
        ['main', 3, 500],
        ['main', 1, 204],
      ],
    );
    const text = JSON.stringify(logged);
    assert.ok(!text.includes(TOKEN) && !text.includes(CREDENTIALS), text);
    assert.ok(!world.logged().includes(TOKEN) && !world.logged().includes(CREDENTIALS));
    const reader = await keyWith(world, ['tasks:read']);
    const shown = await attempts(id, { key: reader });
    assert.ok(!JSON.stringify(shown).includes(logged[0].request_headers['x-service-signature']));
    await receiver.staysQuiet(1_500);
  });

  it('are configured, read and deleted; nobody reads the secrets again', async () => {
    const id = await submitted({ steps: 1, step_ms: 60_000 });
    await world.reaches(id, 'executing');
    const { result } = await rpc('CreateTaskPushNotificationConfig', config({ taskId: id }));
    const own = { taskId: id, id: result.id, url: receiver.url };
    assert.deepEqual(result, own);
    assert.deepEqual((await rpc('GetTaskPushNotificationConfig', { taskId: id, id: own.id })).result, own);
    const path = `/a2a/tasks/${id}/pushNotificationConfigs`;
    const other = await world.send('POST', path, {
      body: config({ id: 'other', url: `${receiver.url}/other` }),
      headers: VERSION,
    });
    assert.equal(other.json.url, `${receiver.url}/other`, other.text);
    const replaced = config({ id: 'other', url: `${receiver.url}/replaced` });
    await world.send('POST', path, { body: replaced, headers: VERSION });
    const listed = (await world.send('GET', path, { headers: VERSION })).json.configs;
    assert.deepEqual(
      listed.map(({ url }: { url: string }) => url).toSorted(),
      [receiver.url, `${receiver.url}/replaced`].toSorted(),
    );
    for (const one of [1, 2]) {
      const deleted = await world.send('DELETE', `${path}/${own.id}`, { headers: VERSION });
      assert.deepEqual([deleted.status, deleted.json], [200, {}], `${one}`);
    }
    const missing = await rpc('GetTaskPushNotificationConfig', { taskId: id, id: own.id });
    assert.equal(missing.error.code, -32_001);
    await rpc('CancelTask', { id });
    await isOver(id);
    assert.deepEqual(new Set(receiver.requests.map(({ url }) => url)), new Set(['/replaced']));
  });

  it('are configured once by a message that is repeated', async () => {
    const messageId = randomUUID();
    const push = config();
    const first = await send({ steps: 1, step_ms: 60_000 }, push, { messageId });
    const again = await send({ steps: 1, step_ms: 60_000 }, push, { messageId });
    const { id } = first.result.task;
    assert.equal(again.result.task.id, id);
    assert.equal((await rpc('ListTaskPushNotificationConfigs', { taskId: id })).result.configs.length, 1);
    const reused = await send({ steps: 1, step_ms: 60_000 }, config({ token: 'another' }), { messageId });
    assert.equal(reused.error.code, INVALID_PARAMS);
    await rpc('CancelTask', { id });
    await isOver(id);
  });

  it('are configured by an answer, for what happens after it, unless the task has its maximum already', async () => {
    const id = await submitted({ steps: 1, ask: { step: 1, question: 'Why?' } });
    await world.reaches(id, 'paused');
    for (let count = 0; count < MAX_A2A_PUSH_CONFIGS; count += 1)
      await rpc('CreateTaskPushNotificationConfig', config({ taskId: id, id: `${count}` }));
    const answer = (push: object) => send({}, push, { taskId: id, parts: [{ text: 'Because' }] });
    const full = await answer(config({ id: 'more' }));
    assert.equal(full.error.code, -32_004);
    assert.equal((await world.send('GET', `/api/v1/tasks/${id}`)).json.state, 'paused', 'it is not answered');
    for (let count = 1; count < MAX_A2A_PUSH_CONFIGS; count += 1)
      await rpc('DeleteTaskPushNotificationConfig', { taskId: id, id: `${count}` });
    // The configuration with the same id is replaced.
    const path = `${receiver.url}/later`;
    assert.equal((await answer(config({ id: '0', url: path }))).error, undefined);
    await isOver(id);
    assert.deepEqual(new Set(receiver.requests.map(({ url }) => url)), new Set(['/later']));
    assert.ok(
      !statesIn(receiver.requests).includes('TASK_STATE_INPUT_REQUIRED'),
      'that was before the answer',
    );
  });

  it('are refused for addresses and values that cannot be used, and then nothing is submitted', async () => {
    const id = await submitted({ steps: 1, step_ms: 60_000 });
    const runs = async () => (await world.send('GET', '/api/v1/tasks?limit=200')).json.data.length;
    const before = await runs();
    const wrong: [object, RegExp][] = [
      [{ url: 'http://example.com/' }, /https/],
      [{ url: 'https://10.0.0.1/' }, /not allowed/],
      [{ url: 'https://user:pass@example.com/' }, /credentials/],
      [{ url: `https://example.com/${'x'.repeat(3_000)}` }, /url/],
      [{ id: 'a/b' }, /id/],
      [{ token: 'a\r\nb' }, /token/],
      [{ token: 'x'.repeat(1_001) }, /token/],
      [{ authentication: { scheme: 'a b' } }, /scheme/],
      [{ authentication: { scheme: 'Bearer', credentials: 'ä' } }, /credentials/],
    ];
    for (const [fields, reason] of wrong) {
      for (const answer of [
        await rpc('CreateTaskPushNotificationConfig', config({ taskId: id, ...fields })),
        await send({ steps: 1 }, config(fields)),
      ]) {
        assert.equal(answer.error?.code, INVALID_PARAMS, `${reason}: ${JSON.stringify(answer)}`);
        assert.match(answer.error.message, reason);
      }
    }
    assert.equal(await runs(), before);
    for (let count = 0; count < MAX_A2A_PUSH_CONFIGS; count += 1)
      await rpc('CreateTaskPushNotificationConfig', config({ taskId: id, id: `${count}` }));
    const full = await rpc('CreateTaskPushNotificationConfig', config({ taskId: id }));
    assert.equal(full.error.code, -32_004);
    assert.match(full.error.message, /10 push notification configurations/);
    const stranger = { key: await addWorkspace(world) };
    for (const method of ['Create', 'Get', 'Delete']) {
      const foreign = config({ taskId: id, id: '0' });
      const refused = await rpc(`${method}TaskPushNotificationConfig`, foreign, stranger);
      assert.equal(refused.error.code, -32_001, method);
    }
    assert.equal(
      (await rpc('ListTaskPushNotificationConfigs', { taskId: id }, stranger)).error.code,
      -32_001,
    );
    await rpc('CancelTask', { id });
  });

  it('count an attempt whose process died before it could record the end', async () => {
    const id = await submitted({ steps: 1, ask: { step: 1, question: 'Why?' } });
    await world.reaches(id, 'paused');
    await rpc('CreateTaskPushNotificationConfig', config({ taskId: id, id: 'main' }));
    const em = world.database.em.fork();
    await em.execute(`update push_configs set claimed_until = 'infinity' where execution_id = ?`, [id]);
    await rpc('CancelTask', { id });
    await world.reaches(id, 'cancelled');
    const events = (await world.send('GET', `/api/v1/tasks/${id}/events`)).json.data;
    const { seq } = events.find(({ type }: { type: string }) => type === 'run.ended');
    await em.execute(
      `insert into push_attempts (id, execution_id, config_id, seq, attempt, url, request_headers, request_body, attempted_at)
       values (gen_random_uuid(), ?, 'main', ?, 1, ?, '{}', '{}', now() - interval '13 s')`,
      [id, seq, receiver.url],
    );
    await em.execute('update push_configs set claimed_until = null where execution_id = ?', [id]);
    await isOver(id);
    const logged = await eventually('the second attempt ended', async () => {
      const data = await attempts(id);
      return data.every((one: { completed_at: string }) => one.completed_at) && data;
    });
    assert.deepEqual(
      logged.map((one: Record<string, unknown>) => [one['attempt'], one['failure'], one['response_status']]),
      [
        [1, 'interrupted', null],
        [2, null, 204],
      ],
    );
  });

  it('are removed with their task', async () => {
    const id = await submitted({ steps: 1 }, config());
    await isOver(id);
    await eventually('the task is erased', async () => {
      const { status } = await world.send('DELETE', `/api/v1/tasks/${id}`);
      return status === 204;
    });
    for (const table of ['push_configs', 'push_attempts']) {
      const rows = await world.database.em
        .fork()
        .execute(`select 1 from ${table} where execution_id = ?`, [id]);
      assert.deepEqual(rows, []);
    }
  });
});
