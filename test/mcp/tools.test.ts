import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { Client } from '@modelcontextprotocol/client';
import { sampleData } from '../../src/domain/webhooks/event-samples.ts';
import { eventually } from '../support/eventually.ts';
import { useWorld } from '../support/world.ts';
import { call, connect, PROTOCOLS } from './client.ts';

for (const protocol of PROTOCOLS) {
  describe(`the tools for clients of MCP ${protocol}`, () => {
    const world = useWorld();
    let client: Client;
    before('connect', async () => {
      client = await connect(world, { protocol });
    });
    after('disconnect', () => client.close());

    const submit = (rehearsal: object = {}, more: object = {}) =>
      call(client, 'submit_task', {
        title: 'A task',
        metadata: { rehearsal: { steps: 1, ...rehearsal } },
        ...more,
      });

    it('have a description, hints and schemas', async () => {
      const { tools } = await client.listTools();
      assert.deepEqual(tools.map(({ name }) => name).toSorted(), [
        'cancel_task',
        'continue_task',
        'get_delivery',
        'get_task',
        'list_artifacts',
        'list_deliveries',
        'list_tasks',
        'list_webhooks',
        'pause_task',
        'read_artifact',
        'rerun_task',
        'retry_delivery',
        'send_event',
        'submit_task',
        'wait_for_task',
      ]);
      for (const { name, description, annotations, outputSchema } of tools) {
        assert.ok(description?.startsWith('Use it') || description?.startsWith('Submits'), name);
        assert.equal(outputSchema?.type, 'object', name);
        assert.equal(annotations?.readOnlyHint, /^(get|list|read|wait)_/.test(name), name);
        assert.equal(annotations?.destructiveHint, name === 'cancel_task', name);
      }
      const submitTask = tools.find(({ name }) => name === 'submit_task');
      assert.deepEqual(submitTask?.inputSchema.required, ['title']);
      assert.deepEqual(Object.keys(submitTask?.inputSchema.properties ?? {}).toSorted(), [
        'callback_url',
        'description',
        'idempotency_key',
        'metadata',
        'project_id',
        'task_type',
        'title',
      ]);
    });

    it('submit a task, wait for it and read its document', async () => {
      const artifact = { step: 1, name: 'a note.md', media_type: 'text/markdown', text: '# Größe\n' };
      const handle = await submit({ artifact });
      assert.deepEqual(Object.keys(handle), ['execution_id', 'status_url', 'websocket_room']);
      const { execution_id } = handle;
      const ended = await call(client, 'wait_for_task', { execution_id, seconds: 60 });
      assert.equal(ended.state, 'completed');
      assert.equal(ended.project_id, world.installation.project_id);
      const { json: overHttp } = await world.send('GET', `/api/v1/tasks/${execution_id}`);
      assert.deepEqual(await call(client, 'get_task', { execution_id }), overHttp);
      const { data } = await call(client, 'list_artifacts', { execution_id });
      assert.deepEqual([data.length, data[0].name], [1, artifact.name]);
      assert.deepEqual(await call(client, 'read_artifact', { execution_id, name: artifact.name }), {
        name: artifact.name,
        media_type: artifact.media_type,
        text: artifact.text,
        base64: null,
      });
    });

    it('answer a question', async () => {
      const { execution_id } = await submit({ ask: { step: 1, question: 'Which colour?' } });
      const asking = await call(client, 'wait_for_task', { execution_id, seconds: 60 });
      assert.equal(asking.state, 'paused');
      assert.equal(asking.question.text, 'Which colour?');
      const answer = { execution_id, reason: 'Green', question: asking.question.id };
      await call(client, 'continue_task', answer);
      assert.equal((await call(client, 'wait_for_task', { execution_id, seconds: 60 })).state, 'completed');
    });

    it('pause, continue, cancel and rerun a task', async () => {
      const { execution_id } = await submit({ step_ms: 60_000 });
      const paused = await call(client, 'pause_task', { execution_id, reason: 'Lunch' });
      assert.equal(paused.execution_id, execution_id);
      await world.reaches(execution_id, 'paused');
      assert.equal((await call(client, 'continue_task', { execution_id })).execution_id, execution_id);
      await world.reaches(execution_id, 'executing');
      assert.equal((await call(client, 'cancel_task', { execution_id })).execution_id, execution_id);
      await world.reaches(execution_id, 'cancelled');
      const rerun = await call(client, 'rerun_task', { execution_id });
      assert.equal(rerun.rerun_of, execution_id);
      await call(client, 'cancel_task', { execution_id: rerun.execution_id });
    });

    it('list tasks by their filters, page by page', async () => {
      const mark = randomUUID();
      const metadata = { mark, rehearsal: { steps: 1 } };
      const [first, second] = [await submit({}, { metadata }), await submit({}, { metadata })];
      const filter = { 'metadata.mark': mark, limit: 1 };
      const page = await call(client, 'list_tasks', filter);
      assert.deepEqual([page.data.length, page.data[0].execution_id], [1, second.execution_id]);
      const next = await call(client, 'list_tasks', { ...filter, cursor: page.next_cursor });
      assert.equal(next.data[0].execution_id, first.execution_id);
      const none = await call(client, 'list_tasks', { ...filter, task_type: ['bug', 'spec'] });
      assert.deepEqual(none.data, []);
    });

    it('do a repeated call with the same key once, also over HTTP', async () => {
      const [key, project_id] = [randomUUID(), world.installation.project_id];
      const body = { title: 'Once', project_id, metadata: { rehearsal: { steps: 1 } } };
      const first = await call(client, 'submit_task', { ...body, idempotency_key: key });
      const again = await call(client, 'submit_task', { ...body, idempotency_key: key });
      const { json } = await world.send('POST', '/api/v1/tasks', {
        body,
        headers: { 'Idempotency-Key': key },
      });
      assert.equal(again.execution_id, first.execution_id);
      assert.equal(json.execution_id, first.execution_id);
    });

    it('keep the metadata as it was sent', async () => {
      const rehearsal = { steps: 1 };
      const { execution_id } = await submit({}, { metadata: { z: 1, a: [null, 'ü'], rehearsal } });
      const { text } = await world.send('GET', `/api/v1/tasks/${execution_id}`);
      assert.ok(text.includes('"metadata":{"z":1,"a":[null,"ü"],"rehearsal":{"steps":1}}'), text);
    });

    it('return the secret of a callback only if there is a callback', async () => {
      for (const callback_url of [undefined, 'https://example.com/done']) {
        const task = await submit({ step_ms: 60_000 }, callback_url === undefined ? {} : { callback_url });
        await call(client, 'cancel_task', { execution_id: task.execution_id });
        await world.reaches(task.execution_id, 'cancelled');
        const rerun = await call(client, 'rerun_task', { execution_id: task.execution_id });
        await call(client, 'cancel_task', { execution_id: rerun.execution_id });
        assert.equal(rerun.callback_url, callback_url ?? null);
        for (const { callback_secret: secret } of [task, rerun]) {
          if (callback_url === undefined) assert.equal(secret, undefined);
          else assert.match(secret, /^[0-9a-f]{64}$/);
        }
      }
    });

    it('send an event, and find and retry its delivery', async () => {
      const body = {
        name: 'Closed port',
        url: 'https://127.0.0.1:9/',
        events: [{ event: 'issue.deleted' }],
      };
      const { json: webhook, text } = await world.send('POST', '/api/v1/webhooks', { body });
      assert.ok(webhook.id, text);
      const data = sampleData('issue.deleted');
      const sent = await call(client, 'send_event', {
        event: 'issue.deleted',
        id: `evt-${randomUUID()}`,
        data,
      });
      assert.equal(sent.duplicate, false);
      const { data: webhooks } = await call(client, 'list_webhooks');
      assert.ok(webhooks.some(({ id }: { id: string }) => id === webhook.id));
      const delivery = await eventually('the delivery has an attempt', async () => {
        const { data: found } = await call(client, 'list_deliveries', { id: webhook.id });
        return found.length > 0 && found[0].attempts_count > 0 && found[0];
      });
      assert.equal(delivery.event_id, sent.id);
      const before = await call(client, 'get_delivery', { id: delivery.id });
      assert.ok(before.attempts[0].failure);
      const retried = await call(client, 'retry_delivery', { id: delivery.id });
      assert.equal(retried.id, delivery.id);
      await eventually('the retry was made', async () => {
        const { attempts } = await call(client, 'get_delivery', { id: delivery.id });
        return attempts.some(({ trigger }: { trigger: string }) => trigger === 'manual');
      });
    });
  });
}
