import assert from 'node:assert/strict';
import { assertProblem } from './problems.ts';
import { type Sent, useWorld } from '../support/world.ts';

/** Keeps a run from starting during the test. */
const HELD = { rehearsal: { start_ms: 60_000 } };

describe('the search for tasks', () => {
  const world = useWorld();
  let first: string;
  before(async () => {
    const submit = async (title: string, metadata: object) =>
      (await world.submit({ title, metadata: { ...HELD, ...metadata } })).json.execution_id as string;
    first = await submit('Add CSV export to orders', { ticket: 'SHOP-142', owner: 'ann@example.com' });
    await submit('Überprüfe die Größe', { path: 'feature/login-page', note: 'line one\nline two' });
    await submit(String.raw`Move C:\new to D:\old`, { nested: { deep: ['Zebra', 4711, true] } });
  });

  const titles = async (query: Record<string, string>, sent: Sent = {}) => {
    const { status, json } = await world.send(
      'GET',
      `/api/v1/tasks?${new URLSearchParams(query).toString()}`,
      sent,
    );
    assert.equal(status, 200);
    return json.data.map(({ title }: { title: string }) => title.split(' ')[0]);
  };

  for (const [q, found] of [
    ['csv', ['Add']],
    ['EXPORT ord', ['Add']],
    ['export csv', ['Add']],
    ['xport', []],
    ['csv größe', []],
    ['SHOP-142', ['Add']],
    ['142', ['Add']],
    ['SHOP-14', ['Add']],
    ['142-SHOP', []],
    ['ann@example', ['Add']],
    ['example.com', ['Add']],
    ['grö', ['Überprüfe']],
    ['login', ['Überprüfe']],
    ['two', ['Überprüfe']],
    ['new old', ['Move']],
    ['nested zebra', ['Move']],
    ['4711', ['Move']],
    [`it's`, []],
  ] as const) {
    it(`finds ${found.length} with ${q}`, async () => assert.deepEqual(await titles({ q }), found));
  }

  it('finds a task by its id, and by the beginning of its id', async () => {
    for (const q of [first, first.toUpperCase(), first.slice(0, 30)]) {
      assert.deepEqual(await titles({ q }), ['Add'], q);
    }
  });

  it('finds only tasks that match the other filters and are of the same workspace', async () => {
    assert.deepEqual(await titles({ q: 'csv', task_type: 'bug' }), []);
    assert.deepEqual(await titles({ q: 'csv', 'metadata.ticket': 'SHOP-142' }), ['Add']);
    assert.deepEqual(await titles({ q: 'csv', cursor: first }), []);
    const other = await world.send('POST', '/api/v1/projects', {
      ...world.as(await world.signIn()),
      body: { name: 'Other', key: 'OTHER' },
    });
    const project_id = other.json.id;
    assert.deepEqual(await titles({ q: 'csv', project_id }, world.as(await world.signIn())), []);
  });

  it('is rejected without a letter or a digit', async () => {
    for (const [q, message] of [
      ['---', '`q` must contain a letter or a digit.'],
      [' ', '`q` must not be blank.'],
      ['x'.repeat(201), '`q` must have at most 200 characters.'],
    ] as const) {
      const refused = await world.send('GET', `/api/v1/tasks?q=${encodeURIComponent(q)}`);
      assertProblem(refused, 400, 'bad_request');
      assert.deepEqual(
        refused.json.errors.map((error: { message: string }) => error.message),
        [message],
      );
    }
  });

  it('returns the tasks of a submitter', async () => {
    const cookie = await world.signIn();
    await world.submit({ title: 'Mine', metadata: HELD }, world.as(cookie));
    const key = (await world.send('GET', '/api/v1/me')).json.label;
    const email = world.installation.admin_email.toUpperCase();
    assert.deepEqual(await titles({ created_by: `user:${email}` }), ['Mine']);
    assert.deepEqual(await titles({ created_by: 'me' }, world.as(cookie)), ['Mine']);
    assert.deepEqual(await titles({ created_by: 'me' }), ['Move', 'Überprüfe', 'Add']);
    assert.deepEqual(await titles({ created_by: key }), ['Move', 'Überprüfe', 'Add']);
    assert.deepEqual(await titles({ created_by: 'user:nobody@example.com' }), []);
    assertProblem(await world.send('GET', '/api/v1/tasks?created_by='), 400, 'bad_request');
  });
});

describe('the list of tasks with an error', () => {
  const world = useWorld();

  it('contains those that failed with one of the codes', async () => {
    const submit = async (rehearsal: object) =>
      (await world.submit({ title: 'Task', metadata: { rehearsal } })).json.execution_id as string;
    const failed = await submit({ unrecoverable: { step: 1 } });
    const recovered = await submit({ fail: { step: 1, times: 1 } });
    await Promise.all([world.reaches(failed, 'failed'), world.reaches(recovered, 'completed')]);
    const found = async (query: string) => {
      const { json } = await world.send('GET', `/api/v1/tasks?${query}`);
      return json.data.map(({ execution_id: id }: { execution_id: string }) => id);
    };
    assert.deepEqual(await found('errors=step_failed'), [failed]);
    assert.deepEqual(await found('errors=run_timed_out,step_failed'), [failed]);
    assert.deepEqual(await found('errors=step_failed&state=completed'), []);
    assert.deepEqual(await found('errors=run_timed_out&errors=planning_failed'), []);
    assertProblem(await world.send('GET', '/api/v1/tasks?errors=lost'), 400, 'bad_request');
  });
});

describe('the list of tasks that wait for a person', () => {
  const world = useWorld();
  const needed = async () => {
    const { json } = await world.send('GET', '/api/v1/tasks?needs_me=true');
    return json.data.map(({ title }: { title: string }) => title);
  };

  it('contains open questions, and escalated tasks that were not rerun', async () => {
    const submit = async (title: string, rehearsal: object) =>
      (await world.submit({ title, task_type: 'bug', metadata: { rehearsal } })).json.execution_id as string;
    const escalated = await submit('Escalated', { escalate: { step: 2, reason: 'Which currency?' } });
    const asking = await submit('Asking', { ask: { step: 2, question: 'May I?' } });
    const paused = await submit('Paused', { step_ms: 60_000 });
    const completed = await submit('Completed', {});
    await world.reaches(paused, 'executing');
    await world.send('POST', `/api/v1/tasks/${paused}/pause`);
    await Promise.all([
      world.reaches(escalated, 'escalated'),
      world.reaches(asking, 'paused'),
      world.reaches(paused, 'paused'),
      world.reaches(completed, 'completed'),
    ]);
    assert.deepEqual(await needed(), ['Asking', 'Escalated']);
    const { json } = await world.send('GET', '/api/v1/tasks?state=paused');
    const questions = json.data.map(({ question }: { question: { text: string } | null }) => question?.text);
    assert.deepEqual(questions, [undefined, 'May I?']);
    await world.send('POST', `/api/v1/tasks/${asking}/continue`, { body: { reason: 'yes' } });
    await world.reaches(asking, 'completed');
    assert.deepEqual(await needed(), ['Escalated']);
    const again = await world.send('POST', `/api/v1/tasks/${escalated}/rerun`);
    await world.reaches(again.json.execution_id, 'escalated');
    const ids = (await world.send('GET', '/api/v1/tasks?needs_me=true')).json.data;
    assert.deepEqual(
      ids.map((run: { execution_id: string }) => run.execution_id),
      [again.json.execution_id],
    );
    assertProblem(await world.send('GET', '/api/v1/tasks?needs_me=yes'), 400, 'bad_request');
  });
});
