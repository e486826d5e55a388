import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { TaskState, type ListTasksRequest, type Task } from '@a2a-js/sdk';
import { artifactsOf } from '../../src/api/a2a/artifacts.ts';
import { listTasks } from '../../src/api/a2a/list.ts';
import { fullTask, lastChange } from '../../src/api/a2a/read.ts';
import type { Dependencies } from '../../src/api/dependencies.ts';
import type { Caller } from '../../src/api/http/caller.ts';
import { recordChange } from '../../src/database/tasks/feed.ts';
import { viewOfRow } from '../../src/database/tasks/run-views.ts';
import { findRun, insertRun, type TaskRunRow } from '../../src/database/tasks/task-runs.ts';
import { MAX_A2A_HISTORY, MAX_A2A_INLINE_BYTES } from '../../src/domain/common/limits.ts';
import { textOf } from '../support/a2a-client.ts';
import { useInstallation } from '../support/installation.ts';
import { newRunRow } from '../support/run-row.ts';

const AT = '2026-01-31T12:00:00.000Z';
const BASE_URL = 'https://baton.example';
const STEP = { id: randomUUID(), name: 'design', agent: 'architect' };

describe('an A2A task that is read', () => {
  const fresh = useInstallation();
  const deps = () => ({ database: fresh.database, baseUrl: BASE_URL }) as unknown as Dependencies;
  const execute = (text: string, values: unknown[]) => fresh.database.em.fork().execute(text, values);

  async function storeRun(metadata: object = {}, projectId?: string): Promise<TaskRunRow> {
    const run = newRunRow(fresh.installation, {
      metadata: JSON.stringify(metadata),
      ...(projectId === undefined ? {} : { project_id: projectId }),
    });
    await insertRun(fresh.database, run);
    return await rowOf(run.id);
  }
  async function rowOf(id: string): Promise<TaskRunRow> {
    const row = await findRun(fresh.database, id);
    assert.ok(row);
    return row;
  }
  const record = (executionId: string, type: 'agent.message' | 'state.changed', data: object) =>
    recordChange(fresh.database, {
      executionId,
      view: null,
      entries: [{ key: randomUUID(), type, at: AT, data: data as Record<string, unknown> }],
    });
  const say = (id: string, text: string) =>
    record(id, 'agent.message', { step: { ...STEP, attempt: 1 }, text });
  const end = (id: string, state: string, minute: number) =>
    execute(
      `update task_runs set state = ?, output = '{"summary":"Done"}', completed_at = ?, updated_at = now() where id = ?`,
      [state, new Date(Date.parse(AT) + minute * 60_000), id],
    );
  const saveDocument = (id: string, name: string, type: string, content: string, sha256 = name) =>
    execute(
      `insert into artifacts (execution_id, name, step_id, agent, media_type, content, size, sha256, created_at)
       values (?, ?, ?, 'the writer', ?, convert_to(?, 'UTF8'), ?, ?, ?)`,
      [id, name, STEP.id, type, content, Buffer.byteLength(content), sha256, AT],
    );

  it('has its documents: text up to a limit inline, and others as links', async () => {
    const run = await storeRun();
    await execute('update task_runs set steps = ? where id = ?', [JSON.stringify([STEP]), run.id]);
    const documents: [name: string, type: string, content: string, isInline: boolean][] = [
      ['a.md', 'text/markdown', 'é', true],
      ['b.json', 'application/json', '{}', true],
      ['c.yaml', 'application/yaml', 'a: 1', true],
      ['d.xml', 'application/xml', '<a/>', true],
      ['e.ld', 'application/ld+json', '[]', true],
      ['f.svg', 'image/svg+xml', '<svg/>', true],
      ['g.txt', 'text/plain', 'x'.repeat(MAX_A2A_INLINE_BYTES), true],
      ['h.txt', 'text/plain', 'x'.repeat(MAX_A2A_INLINE_BYTES + 1), false],
      ['i.png', 'image/png', 'png', false],
      ['j.bin', 'application/jsonx', 'x', false],
      ['k.bin', 'x-text/plain', 'x', false],
    ];
    for (const [name, type, content] of documents) await saveDocument(run.id, name, type, content);
    const found = await artifactsOf(deps(), await rowOf(run.id));
    const urlOf = (name: string) => `${BASE_URL}/api/v1/tasks/${run.id}/artifacts/${name}`;
    assert.deepEqual(
      found,
      documents.map(([name, mediaType, content, isInline]) => ({
        sha256: name,
        artifact: {
          artifactId: name,
          name,
          description: '',
          parts: [
            {
              content: isInline ? { $case: 'text', value: content } : { $case: 'url', value: urlOf(name) },
              mediaType,
              filename: name,
              metadata: undefined,
            },
          ],
          metadata: {
            step: 'design',
            agent: 'the writer',
            size: Buffer.byteLength(content),
            sha256: name,
            createdAt: AT,
            url: urlOf(name),
          },
          extensions: [],
        },
      })),
    );
  });

  it('has only new and changed documents if others are known', async () => {
    const run = await storeRun();
    for (const name of ['same', 'changed', 'new']) await saveDocument(run.id, name, 'text/plain', 'x');
    const known = new Map([
      ['same', 'same'],
      ['changed', 'another hash'],
      ['removed', 'x'],
    ]);
    const found = await artifactsOf(deps(), run, known);
    assert.deepEqual(found.map(({ sha256 }) => sha256).toSorted(), ['changed', 'new']);
  });

  it('has the newest messages, and the change that its status names', async () => {
    const { id } = await storeRun();
    await record(id, 'state.changed', { from: 'executing', to: 'paused', by: 'user:ada', reason: 'wait' });
    await execute(
      `update task_runs set state = 'paused', paused_from = 'executing', view_seq = 1 where id = ?`,
      [id],
    );
    const paused = await rowOf(id);
    for (let count = 0; count < MAX_A2A_HISTORY + 2; count += 1) await say(id, `${count}`);
    await record(id, 'state.changed', { from: 'paused', to: 'executing', by: 'user:ada', reason: 'go' });
    const read = async (row: TaskRunRow, length?: number) =>
      await fullTask(deps(), { row, view: viewOfRow(row) }, length);
    const before = await read(paused);
    assert.equal(textOf(before.status?.message), 'Paused by user:ada: wait');
    assert.deepEqual(before.history.map(textOf), ['A test'], 'later events are not part of the view');
    await execute('update task_runs set view_seq = last_seq where id = ?', [id]);
    const row = await rowOf(id);
    const texts = async (length?: number) => (await read(row, length)).history.map(textOf);
    const said = Array.from({ length: MAX_A2A_HISTORY + 2 }, (_, count) => `${count}`);
    const all = ['A test', ...said, 'go'];
    assert.deepEqual(await texts(), all.slice(-MAX_A2A_HISTORY));
    assert.deepEqual(await texts(MAX_A2A_HISTORY + 1), all.slice(-MAX_A2A_HISTORY));
    assert.deepEqual(await texts(2), all.slice(-2));
    assert.deepEqual(await texts(0), []);
    assert.deepEqual(
      [
        (await lastChange(fresh.database, id, row.last_seq - 1))?.seq,
        await lastChange(fresh.database, id, 0),
      ],
      [1, null],
    );
  });

  it('has its output after its documents once it has ended', async () => {
    const { id } = await storeRun();
    await execute(`update task_runs set output = '{"summary":"Early"}' where id = ?`, [id]);
    await saveDocument(id, 'a.md', 'text/markdown', 'x');
    const names = async () => {
      const row = await rowOf(id);
      const { artifacts, metadata } = await fullTask(deps(), { row, view: viewOfRow(row) }, 0);
      assert.equal(metadata?.['statusUrl'], `${BASE_URL}/api/v1/tasks/${id}`);
      return artifacts.map(({ artifactId }) => artifactId);
    };
    assert.deepEqual(await names(), ['a.md']);
    await end(id, 'completed', 0);
    assert.deepEqual(await names(), ['a.md', '/output']);
  });

  it('is listed with the others of the caller that match, in pages', async () => {
    const contextId = randomUUID();
    const { workspace_id: workspaceId, project_id: projectId } = fresh.installation;
    const other = randomUUID();
    await execute(
      `insert into projects (id, workspace_id, name, key, created_at) values (?, ?, 'Other', 'OTHER', now())`,
      [other, workspaceId],
    );
    const metadata = { a2a_context_id: contextId };
    const ids: string[] = [];
    for (const [index, state] of ['completed', 'failed', 'completed', 'completed'].entries()) {
      const { id } = await storeRun(metadata, index === 3 ? other : projectId);
      await say(id, 'Hello');
      await execute('update task_runs set view_seq = last_seq where id = ?', [id]);
      await end(id, state, index);
      ids.push(id);
    }
    await end((await storeRun()).id, 'completed', 9);
    const key = { kind: 'key', projectId, workspaceId } as unknown as Caller;
    const person = { kind: 'person', projectId: null, workspaceId } as unknown as Caller;
    const list = (fields: Partial<ListTasksRequest>, caller = key) =>
      listTasks(deps(), caller, {
        tenant: '',
        contextId,
        status: TaskState.TASK_STATE_UNSPECIFIED,
        pageToken: '',
        statusTimestampAfter: undefined,
        ...fields,
      });
    const numbers = (tasks: Task[]) => tasks.map(({ id }) => ids.indexOf(id));
    const all = await list({});
    assert.deepEqual([numbers(all.tasks), all.totalSize, all.pageSize], [[2, 1, 0], 3, 50]);
    assert.equal(all.nextPageToken, '');
    assert.deepEqual(all.tasks[0]?.artifacts, []);
    assert.deepEqual(all.tasks[0].history, []);
    assert.deepEqual(numbers((await list({}, person)).tasks), [3, 2, 1, 0]);
    assert.deepEqual(numbers((await list({ status: TaskState.TASK_STATE_FAILED })).tasks), [1]);
    const since = new Date(Date.parse(AT) + 60_000).toISOString();
    const after = async (time: string) => numbers((await list({ statusTimestampAfter: time })).tasks);
    assert.deepEqual(await after(since), [2, 1]);
    for (const time of ['0000-01-01T00:00:00Z', '0001-01-01T00:00:00+14:00'])
      assert.deepEqual(await after(time), [2, 1, 0]);
    assert.deepEqual(await after('9999-12-31T23:59:59-14:00'), []);
    assert.equal(
      (await list({ contextId: '' }, person)).totalSize,
      (await list({ contextId: '' })).totalSize + 1,
    );
    const first = await list({ pageSize: 2, includeArtifacts: true, historyLength: 1 });
    assert.deepEqual([numbers(first.tasks), first.totalSize, first.pageSize], [[2, 1], 3, 2]);
    assert.deepEqual(
      [first.tasks[0]?.artifacts.map(({ name }) => name), first.tasks[0]?.history.map(textOf)],
      [['output'], ['Hello']],
    );
    const second = await list({ pageSize: 2, pageToken: first.nextPageToken });
    assert.deepEqual([numbers(second.tasks), second.nextPageToken], [[0], '']);
  });
});
