import assert from 'node:assert/strict';
import { insertRun } from '../../src/database/tasks/task-runs.ts';
import { RUN_PAUSES } from '../../src/domain/common/limits.ts';
import { assertProblem } from './problems.ts';
import { newRunRow } from '../support/run-row.ts';
import { useWorld } from '../support/world.ts';

describe('pause, continue and cancel', () => {
  const world = useWorld();

  const act = (id: string, name: string, body?: object) =>
    world.send('POST', `/api/v1/tasks/${id}/${name}`, body ? { body } : {});
  const running = async (state: 'initializing' | 'planning' | 'executing') => {
    const member = { initializing: 'start_ms', planning: 'plan_ms', executing: 'step_ms' }[state];
    const { json } = await world.submit({ metadata: { rehearsal: { steps: 2, [member]: 60_000 } } });
    await world.reaches(json.execution_id, state);
    return json.execution_id as string;
  };

  for (const state of ['initializing', 'planning', 'executing'] as const) {
    it(`change a run that is ${state}`, async () => {
      const id = await running(state);
      assert.equal((await act(id, 'pause', { reason: 'an inspection' })).status, 202);
      const paused = await world.reaches(id, 'paused');
      const { json: me } = await world.send('GET', '/api/v1/me');
      assert.equal(paused.json.paused_by, me.label);
      assert.ok(paused.json.paused_at);
      const again = await act(id, 'pause');
      assert.equal(again.json.paused_at, paused.json.paused_at, 'a second pause changes nothing');
      assert.equal((await act(id, 'continue')).status, 202);
      const continued = await world.reaches(id, state);
      assert.ok(continued.json.paused_ms >= 0);
      assert.equal((await act(id, 'continue')).json.state, state);
      assert.equal((await act(id, 'cancel')).status, 202);
      await world.reaches(id, 'cancelled');
    });
  }

  it('take effect on a run whose workflow does not exist yet', async () => {
    const metadata = JSON.stringify({ rehearsal: { steps: 1, step_ms: 60_000 } });
    const run = newRunRow(world.installation, { title: 'Accepted a moment ago', metadata });
    await insertRun(world.database, run);
    const { id } = run;
    assert.equal((await act(id, 'pause')).status, 202);
    await world.reaches(id, 'paused');
    assert.equal((await act(id, 'continue')).status, 202);
    assert.equal((await act(id, 'cancel')).status, 202);
    await world.reaches(id, 'cancelled');
    const { json } = await world.send('GET', `/api/v1/tasks/${id}/events`);
    assert.equal(json.data.filter(({ type }: { type: string }) => type === 'run.ended').length, 1);
  });

  it('cancel a paused run', async () => {
    const id = await running('executing');
    await act(id, 'pause');
    await world.reaches(id, 'paused');
    assert.equal((await act(id, 'cancel', { reason: 'no need' })).status, 202);
    await world.reaches(id, 'cancelled');
  });

  it('answer the question of an agent with the reason of continue', async () => {
    const ask = { step: 1, question: 'May I?' };
    const { json: submitted } = await world.submit({ metadata: { rehearsal: { steps: 1, ask } } });
    const path = `/api/v1/tasks/${submitted.execution_id}`;
    const { json: paused } = await world.reaches(submitted.execution_id, 'paused');
    assert.equal(paused.question.text, 'May I?');
    assert.equal(paused.paused_by, `agent:${paused.question.agent}`);
    const continued = await world.send('POST', `${path}/continue`, { body: { reason: 'yes' } });
    assert.equal(continued.status, 202);
    const { json: completed } = await world.reaches(submitted.execution_id, 'completed');
    assert.equal(completed.question, null);
  });

  it('answer only the question with the given id', async () => {
    const ask = { step: 1, question: 'May I?' };
    const { json: submitted } = await world.submit({ metadata: { rehearsal: { steps: 1, ask } } });
    const id = submitted.execution_id;
    const { json: paused } = await world.reaches(id, 'paused');
    const other = await act(id, 'continue', { question: 'another' });
    assertProblem(other, 409, 'invalid_state');
    assert.match(other.json.detail, /"?another"? is not open/);
    assert.equal((await world.send('GET', `/api/v1/tasks/${id}`)).json.state, 'paused');
    assert.equal((await act(id, 'continue', { question: paused.question.id })).status, 202);
    await world.reaches(id, 'completed');
  });

  it('are limited in number per run, except cancel', async () => {
    const id = await running('executing');
    const statuses = [];
    for (let n = 0; n < RUN_PAUSES.burst + 20; n += 1)
      statuses.push(act(id, n % 2 === 0 ? 'pause' : 'continue'));
    const received = await Promise.all(statuses);
    const refused = received.find(({ status }) => status === 429);
    assert.ok(refused);
    assertProblem(refused, 429, 'rate_limited');
    assert.ok(Number(refused.headers.get('retry-after')) >= 1);
    assert.equal((await act(id, 'cancel')).status, 202);
    await world.reaches(id, 'cancelled');
  });

  it('are rejected after the run has ended, except a repeated cancel', async () => {
    const { json: done } = await world.submit({ metadata: { rehearsal: { steps: 1 } } });
    await world.reaches(done.execution_id, 'completed');
    for (const name of ['pause', 'continue', 'cancel']) {
      assertProblem(await act(done.execution_id, name), 409, 'invalid_state');
    }
    const id = await running('executing');
    await act(id, 'cancel');
    await world.reaches(id, 'cancelled');
    assert.equal((await act(id, 'cancel')).status, 202);
    for (const name of ['pause', 'continue']) assertProblem(await act(id, name), 409, 'invalid_state');
  });

  it('return 422 for an invalid body', async () => {
    const id = await running('planning');
    assertProblem(await act(id, 'pause', { why: 1 }), 422, 'validation_failed');
    assertProblem(await act(id, 'pause', { reason: 'x'.repeat(1_001) }), 422, 'validation_failed');
    await act(id, 'cancel');
  });
});

describe('the erasure of a task', () => {
  const world = useWorld();

  it('is rejected while the task runs, and removes it after its end', async () => {
    const { json } = await world.submit({ metadata: { rehearsal: { plan_ms: 60_000 } } });
    const path = `/api/v1/tasks/${json.execution_id}`;
    assertProblem(await world.send('DELETE', path), 409, 'invalid_state');
    await world.send('POST', `${path}/cancel`);
    await world.reaches(json.execution_id, 'cancelled');
    assert.equal((await world.send('DELETE', path)).status, 204);
    assertProblem(await world.send('GET', path), 404, 'not_found');
    assertProblem(await world.send('GET', `${path}/events`), 404, 'not_found');
    assertProblem(await world.send('DELETE', path), 404, 'not_found');
  });
});
