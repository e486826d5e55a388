import assert from 'node:assert/strict';
import { TaskState, type SendMessageRequest, type StreamResponse, type Task } from '@a2a-js/sdk';
import type { Client } from '@a2a-js/sdk/client';
import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import { queryBuilderOf } from '../../src/database/database.ts';
import {
  all,
  a2aClient,
  BINDINGS,
  messageWith,
  positionsOf,
  shownPositions,
  textOf,
} from '../support/a2a-client.ts';
import { eventually } from '../support/eventually.ts';
import { useWorld } from '../support/world.ts';

for (const binding of BINDINGS) {
  describe(`A2A over ${binding}`, function () {
    const world = useWorld();
    let client: Client;
    before('read the card', async () => {
      client = await a2aClient(world.api.url, world.installation.api_key, binding);
    });

    const submit = async (rehearsal: object, text = 'A task', fields: object = {}) =>
      (await client.sendMessage(messageWith(text, { metadata: { rehearsal }, ...fields }))) as Task;
    const read = (id: string) => client.getTask({ tenant: '', id });
    const reaches = (id: string, state: TaskState) =>
      eventually(`the task is ${state}`, async () => {
        const task = await read(id);
        return task.status?.state === state && task;
      });
    /** Makes the first request with a message look like one whose process died a minute ago, without a response. */
    const loseResponse = async ({ message }: SendMessageRequest) => {
      const key = `a2a:${createHash('sha256')
        .update(message?.messageId ?? '')
        .digest('hex')}`;
      await sql`
        update idempotency_keys set answer = null, created_at = now() - interval '61 s' where key = ${key}
      `.execute(queryBuilderOf(world.database));
    };
    const events = async (id: string) => (await world.send('GET', `/api/v1/tasks/${id}/events`)).json.data;

    it('submits a task: the run has the fields of the message', async () => {
      const metadata = { task_type: 'bug', branch: 'main', rehearsal: { steps: 1 } };
      const request = messageWith('Fix the export\nIt fails for names with an apostrophe.', { metadata });
      const task = (await client.sendMessage(request)) as Task;
      const { json } = await world.send('GET', `/api/v1/tasks/${task.id}`);
      assert.equal(json.title, 'Fix the export');
      assert.equal(json.description, 'Fix the export\nIt fails for names with an apostrophe.');
      assert.equal(json.task_type, 'bug');
      assert.equal(json.project_id, world.installation.project_id);
      assert.equal(json.metadata.branch, 'main');
      assert.equal(task.contextId, task.id);
      assert.equal(textOf(task.history[0]), json.description);
    });

    it('waits for the end, and returns the output and the documents', async () => {
      const artifact = { step: 1, name: 'notes.md', media_type: 'text/markdown', text: '# Notes' };
      const metadata = { rehearsal: { steps: 2, artifact } };
      const task = (await client.sendMessage(
        messageWith('A task', { metadata, returnImmediately: false }),
      )) as Task;
      assert.equal(task.status?.state, TaskState.TASK_STATE_COMPLETED);
      assert.deepEqual(
        task.artifacts.map(({ artifactId }) => artifactId),
        ['notes.md', '/output'],
      );
      assert.deepEqual(task.artifacts[0]?.parts[0]?.content, { $case: 'text', value: '# Notes' });
      assert.equal(textOf(task.status.message), '2 of 2 steps completed');
    });

    it('submits once, however often a message is sent', async () => {
      const request = messageWith('Once', { metadata: { rehearsal: { steps: 1 } } });
      const first = (await client.sendMessage(request)) as Task;
      const second = (await client.sendMessage(request)) as Task;
      assert.equal(second.id, first.id);
      const { messageId } = request.message ?? {};
      await assert.rejects(() => client.sendMessage(messageWith('Other', { messageId: messageId ?? '' })), {
        name: 'RequestMalformedError',
      });
    });

    it('asks, and is answered by another message to the same task', async () => {
      const question = 'Which colour?';
      const { id } = await submit({ steps: 1, ask: { step: 1, question } });
      const asking = await reaches(id, TaskState.TASK_STATE_INPUT_REQUIRED);
      assert.equal(textOf(asking.status?.message), question);
      const answer = messageWith('Blue', { taskId: id, contextId: asking.contextId });
      await client.sendMessage(answer);
      const done = await reaches(id, TaskState.TASK_STATE_COMPLETED);
      assert.deepEqual(
        done.history.map(textOf).filter((text) => text === question || text === 'Blue'),
        [question, 'Blue'],
      );
      // The same answer again is not the answer to anything else.
      const again = (await client.sendMessage(answer)) as Task;
      assert.equal(again.status?.state, TaskState.TASK_STATE_COMPLETED);
      await assert.rejects(() => client.sendMessage(messageWith('Red', { taskId: id })), {
        name: 'UnsupportedOperationError',
      });
    });

    for (const named of [false, true])
      it(`takes an answer ${named ? 'to a named question ' : ''}once if it is sent again after its process died`, async () => {
        const { id } = await submit({ steps: 1, ask: { step: 1, question: 'Which colour?' } });
        const asking = await reaches(id, TaskState.TASK_STATE_INPUT_REQUIRED);
        const { question } = asking.status?.message?.metadata ?? {};
        const answer = messageWith('Blue', { taskId: id, metadata: named ? { question } : undefined });
        await client.sendMessage(answer);
        await loseResponse(answer);
        assert.equal(((await client.sendMessage(answer)) as Task).id, id);
        const { history } = await reaches(id, TaskState.TASK_STATE_COMPLETED);
        assert.equal(history.filter((message) => textOf(message) === 'Blue').length, 1);
      });

    it('is working while it is paused, with the reason', async () => {
      const { id } = await submit({ steps: 2, step_ms: 60_000 });
      await world.send('POST', `/api/v1/tasks/${id}/pause`, { body: { reason: 'needs review' } });
      await world.reaches(id, 'paused');
      const task = await read(id);
      assert.equal(task.status?.state, TaskState.TASK_STATE_WORKING);
      assert.match(textOf(task.status?.message), /^Paused by key:\S+: needs review$/);
      await client.cancelTask({ tenant: '', id, metadata: undefined });
    });

    it('has failed if it escalated, with the reason', async () => {
      const { id } = await submit({ steps: 1, escalate: { step: 1, reason: 'Too risky.' } });
      const task = await reaches(id, TaskState.TASK_STATE_FAILED);
      assert.equal(textOf(task.status?.message), 'Too risky.');
      assert.equal(task.metadata?.['state'], 'escalated');
    });

    it('is cancelled, and cannot be cancelled after its end', async () => {
      const { id } = await submit({ steps: 1, step_ms: 60_000 });
      const cancel = () => client.cancelTask({ tenant: '', id, metadata: undefined });
      assert.equal((await cancel()).id, id);
      await reaches(id, TaskState.TASK_STATE_CANCELED);
      assert.equal((await cancel()).status?.state, TaskState.TASK_STATE_CANCELED);
      const { id: done } = await submit({ steps: 1 });
      await reaches(done, TaskState.TASK_STATE_COMPLETED);
      await assert.rejects(() => client.cancelTask({ tenant: '', id: done, metadata: undefined }), {
        name: 'TaskNotCancelableError',
      });
    });

    it('lists tasks by context and state, in pages', async () => {
      const contextId = `context-${binding}-${Date.now()}`;
      const ids: string[] = [];
      for (let index = 0; index < 3; index += 1) {
        const { id } = await submit({ steps: 1 }, 'Listed', { contextId });
        await reaches(id, TaskState.TASK_STATE_COMPLETED);
        ids.push(id);
      }
      const list = async (pageToken: string, status = TaskState.TASK_STATE_COMPLETED) =>
        await client.listTasks({
          tenant: '',
          contextId,
          status,
          pageSize: 2,
          pageToken,
          statusTimestampAfter: undefined,
        });
      const first = await list('');
      const second = await list(first.nextPageToken);
      const listed = [...first.tasks, ...second.tasks];
      assert.deepEqual(
        listed.map(({ id }) => id),
        ids.toReversed(),
      );
      assert.ok(listed.every((task) => task.contextId === contextId));
      assert.equal(first.totalSize, 3);
      assert.equal(second.nextPageToken, '');
      for (const none of [TaskState.TASK_STATE_INPUT_REQUIRED, TaskState.TASK_STATE_REJECTED])
        assert.deepEqual((await list('', none)).tasks, []);
    });

    it('streams a task to its end, with every event of the feed', async () => {
      const artifact = { step: 1, name: 'notes.md', media_type: 'text/markdown', text: '# Notes' };
      const request = messageWith('Streamed', { metadata: { rehearsal: { steps: 2, artifact } } });
      const responses = await all(client.sendMessageStream(request));
      const [first] = responses;
      assert.equal(first?.payload?.$case, 'task');
      const task = first.payload.value;
      const last = responses.at(-1)?.payload;
      assert.equal(last?.$case, 'statusUpdate');
      assert.equal(last.value.status?.state, TaskState.TASK_STATE_COMPLETED);
      const after = Number(task.metadata?.['lastSeq']);
      assert.deepEqual(positionsOf(responses), shownPositions(await events(task.id), after));
      const names = responses.flatMap(({ payload }) =>
        payload?.$case === 'artifactUpdate' ? [payload.value.artifact?.artifactId] : [],
      );
      const known = task.artifacts.map(({ artifactId }) => artifactId);
      assert.deepEqual([...known, ...names], ['notes.md', '/output']);
    });

    it('follows a task after a reconnect from the last event that the client has', async () => {
      const { id } = await submit({ steps: 1, ask: { step: 1, question: 'Continue?' } });
      await reaches(id, TaskState.TASK_STATE_INPUT_REQUIRED);
      const received: StreamResponse[] = [];
      for await (const response of client.resubscribeTask(
        { tenant: '', id },
        { serviceParameters: { 'Last-Event-ID': '1' } },
      )) {
        received.push(response);
        const { payload } = response;
        if (
          payload?.$case === 'statusUpdate' &&
          payload.value.status?.state === TaskState.TASK_STATE_INPUT_REQUIRED
        )
          await client.sendMessage(messageWith('Yes', { taskId: id }));
      }
      assert.deepEqual(positionsOf(received), shownPositions(await events(id), 1));
      await assert.rejects(() => all(client.resubscribeTask({ tenant: '', id })), {
        name: 'UnsupportedOperationError',
      });
    });

    it('repeats no progress after a reconnect', async () => {
      const { id } = await submit({ steps: 1, step_ms: 60_000, progress_events: 100 });
      const isProgress = ({ payload }: StreamResponse) =>
        payload?.$case === 'statusUpdate' && payload.value.metadata?.['type'] === 'step.progress';
      /** Returns the positions of a stream up to its first report of progress. */
      const untilProgress = async (after: number) => {
        const received: StreamResponse[] = [];
        const parameters = { serviceParameters: { 'Last-Event-ID': String(after) } };
        for await (const response of client.resubscribeTask({ tenant: '', id }, parameters)) {
          received.push(response);
          if (isProgress(response)) break;
        }
        return positionsOf(received);
      };
      const first = await untilProgress(0);
      const second = await untilProgress(first.length);
      await client.cancelTask({ tenant: '', id, metadata: undefined });
      const shown = shownPositions(await events(id), 0);
      assert.deepEqual([...first, ...second], shown.slice(0, first.length + 1));
    });
  });
}
