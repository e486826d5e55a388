import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { useCallbackReceiver } from '../support/callback-receiver.ts';
import { addPerson, addWorkspace } from '../support/people.ts';
import { assertProblem } from './problems.ts';
import { useWorld } from '../support/world.ts';

type Step = { id: string; name: string; status: string; kept?: true; summary: string | null };

describe('a rerun of a task', function () {
  const world = useWorld();
  const receiver = useCallbackReceiver();

  const rerun = (id: string, body?: unknown, sent = {}) =>
    world.send('POST', `/api/v1/tasks/${id}/rerun`, { ...(body === undefined ? {} : { body }), ...sent });
  const read = async (id: string) => (await world.send('GET', `/api/v1/tasks/${id}`)).json;
  const submitted = async (members: Record<string, unknown>): Promise<string> =>
    (await world.submit(members)).json.execution_id;
  const eventsOf = async (id: string) => (await world.send('GET', `/api/v1/tasks/${id}/events`)).json.data;

  /** Creates a run of three steps that was cancelled while the second one asked a question. */
  async function cancelledInTheSecond(members: Record<string, unknown> = {}): Promise<string> {
    const rehearsal = { steps: 3, ask: { step: 2, question: 'May I?' } };
    const id = await submitted({ metadata: { order: 'A-17', rehearsal }, ...members });
    await world.reaches(id, 'paused');
    await world.send('POST', `/api/v1/tasks/${id}/cancel`);
    await world.reaches(id, 'cancelled');
    return id;
  }
  /** Replies to the question of the second step; returns the completed run. */
  async function finished(id: string) {
    await world.reaches(id, 'paused');
    await world.send('POST', `/api/v1/tasks/${id}/continue`, { body: { reason: 'yes' } });
    return await world.reaches(id, 'completed');
  }

  it('keeps the completed steps, and executes the others', async () => {
    const id = await cancelledInTheSecond();
    const { status, headers, json } = await rerun(id);
    assert.equal(status, 201);
    assert.equal(headers.get('location'), json.status_url);
    assert.equal(json.rerun_of, id);
    assert.equal(json.rerun_from, 'step-2');
    assert.match(json.callback_secret, /^[0-9a-f]{64}$/);
    const { json: done } = await finished(json.execution_id);
    const earlier = await read(id);
    const [first, second, third] = done.steps as Step[];
    assert.deepEqual({ ...first, id: earlier.steps[0].id }, { ...earlier.steps[0], kept: true });
    assert.deepEqual([second?.status, third?.status, second?.kept], ['completed', 'completed', undefined]);
    const started = (await eventsOf(json.execution_id))
      .filter(({ type }: { type: string }) => type === 'step.started')
      .map(({ data }: { data: { step: Step } }) => data.step.name);
    assert.deepEqual(started, ['step-2', 'step-3'], 'the kept step is not executed again');
    assert.equal(done.output.steps.length, 3);
  });

  it('shows the kept steps as completed from the start', async () => {
    const id = await cancelledInTheSecond();
    const { json } = await rerun(id);
    await world.reaches(json.execution_id, 'paused');
    const [begins] = (await eventsOf(json.execution_id)).filter(
      ({ data }: { data: { to?: string } }) => data.to === 'executing',
    );
    assert.deepEqual(
      begins.data.steps.map(({ name, kept }: Step) => [name, kept]),
      [
        ['step-1', true],
        ['step-2', undefined],
        ['step-3', undefined],
      ],
    );
    assert.equal((await read(json.execution_id)).progress.steps_completed, 1);
    await world.send('POST', `/api/v1/tasks/${json.execution_id}/cancel`);
  });

  it('passes the answer to an escalation to the step that escalated', async () => {
    const rehearsal = { steps: 3, escalate: { step: 2, reason: 'Which currency?' } };
    const id = await submitted({ metadata: { rehearsal } });
    await world.reaches(id, 'escalated');
    const { json } = await rerun(id, { answer: 'Euro' });
    await world.reaches(json.execution_id, 'completed');
    const events = await eventsOf(json.execution_id);
    const begins = events.find(({ data }: { data: { to?: string } }) => data.to === 'executing');
    const { by, ...answer } = begins.data.answer;
    assert.deepEqual(answer, { step: 'step-2', question: 'Which currency?', text: 'Euro' });
    assert.match(by, /^key/);
    assert.ok(JSON.stringify(events).includes(`${by} answered: Euro`));
    const other = await rerun(json.execution_id, { answer: 'Euro' });
    assertProblem(other, 422, 'validation_failed');
    assert.equal(other.json.errors[0].pointer, '/answer');
  });

  it('is linked to the earlier run in both directions', async () => {
    const id = await cancelledInTheSecond();
    const { json: first } = await rerun(id);
    const { json: second } = await rerun(id, { from_step: 'step-1' });
    await Promise.all([finished(first.execution_id), finished(second.execution_id)]);
    const { reruns, rerun_of } = await read(id);
    assert.equal(rerun_of, null);
    assert.deepEqual(
      reruns.map((run: Record<string, unknown>) => [run['execution_id'], run['state'], run['rerun_from']]),
      [
        [first.execution_id, 'completed', 'step-2'],
        [second.execution_id, 'completed', 'step-1'],
      ],
    );
    const detail = await read(second.execution_id);
    assert.deepEqual([detail.rerun_of, detail.rerun_from, detail.reruns], [id, 'step-1', []]);
    const { json: list } = await world.send('GET', '/api/v1/tasks');
    const listed = list.data.find(
      (run: { execution_id: string }) => run.execution_id === second.execution_id,
    );
    assert.deepEqual([listed.rerun_of, listed.errors], [id, []]);
  });

  it('has the same submission, and sends its own callback', async () => {
    const id = await cancelledInTheSecond({ description: 'Why', callback_url: `${receiver.url}/again` });
    const { json } = await rerun(id);
    const { json: done } = await finished(json.execution_id);
    const earlier = await read(id);
    for (const member of ['title', 'description', 'task_type', 'metadata', 'project_id']) {
      assert.deepEqual(done[member], earlier[member], member);
    }
    const [request] = await receiver.receives(1);
    assert.equal(JSON.parse(String(request?.body)).execution_id, json.execution_id);
  });

  it('keeps the kept steps of a rerun that it repeats', async () => {
    const id = await cancelledInTheSecond();
    const { json: second } = await rerun(id);
    await finished(second.execution_id);
    const { json: third } = await rerun(second.execution_id, { from_step: 'step-3' });
    const { json: done } = await world.reaches(third.execution_id, 'completed');
    assert.deepEqual(
      (done.steps as Step[]).map(({ kept }) => kept),
      [true, true, undefined],
    );
  });

  it('keeps parallel steps, and repeats later ones', async () => {
    const id = await submitted({ metadata: {} });
    await world.reaches(id, 'completed');
    const { json } = await rerun(id, { from_step: 'test' });
    const { json: done } = await world.reaches(json.execution_id, 'completed');
    assert.deepEqual(
      (done.steps as Step[]).filter(({ kept }) => kept).map(({ name }) => name),
      ['design', 'implement', 'review'],
    );
  });

  it('creates a new plan if the earlier run had none', async () => {
    const id = await submitted({ metadata: { rehearsal: { plan_ms: 60_000 } } });
    await world.reaches(id, 'planning');
    await world.send('POST', `/api/v1/tasks/${id}/cancel`);
    await world.reaches(id, 'cancelled');
    const { status, json } = await rerun(id);
    assert.equal(status, 201);
    assert.equal(json.rerun_from, null);
    assertProblem(await rerun(id, { from_step: 'design' }), 422, 'validation_failed');
    await world.send('POST', `/api/v1/tasks/${json.execution_id}/cancel`);
  });

  it('is rejected while the run is open', async () => {
    const id = await submitted({ metadata: { rehearsal: { step_ms: 60_000 } } });
    assertProblem(await rerun(id), 409, 'invalid_state');
    await world.send('POST', `/api/v1/tasks/${id}/cancel`);
  });

  it('is rejected with the pointer of an invalid member of the body', async () => {
    const id = await cancelledInTheSecond();
    const unknown = await rerun(id, { from_step: 'deploy' });
    assertProblem(unknown, 422, 'validation_failed');
    assert.equal(unknown.json.errors[0].pointer, '/from_step');
    assert.match(unknown.json.errors[0].message, /step-1, step-2, step-3/);
    for (const body of [{ from_step: 3 }, { from_step: '' }, { step: 'x' }, []]) {
      assertProblem(await rerun(id, body), 422, 'validation_failed');
    }
  });

  it('is created once for the same idempotency key', async () => {
    const id = await cancelledInTheSecond();
    const headers = { 'Idempotency-Key': randomUUID() };
    const first = await rerun(id, {}, { headers });
    const again = await rerun(id, {}, { headers });
    assert.equal(again.headers.get('idempotent-replayed'), 'true');
    assert.equal(again.text, first.text);
    assert.equal((await read(id)).reruns.length, 1);
  });

  it('requires permission to submit, and returns 404 for other workspaces', async () => {
    const id = await cancelledInTheSecond();
    const owner = await world.signIn();
    const viewer = await addPerson(world, owner, 'viewer');
    assertProblem(await rerun(id, {}, world.as(viewer)), 403, 'forbidden');
    assert.equal((await rerun(id, {}, world.as(await addPerson(world, owner, 'member')))).status, 201);
    assertProblem(await rerun(id, {}, { key: await addWorkspace(world) }), 404, 'not_found');
    assertProblem(await rerun(randomUUID()), 404, 'not_found');
  });

  it('remains after the earlier run is erased', async () => {
    const id = await cancelledInTheSecond();
    const { json } = await rerun(id);
    assert.equal((await world.send('DELETE', `/api/v1/tasks/${id}`)).status, 204);
    const { json: done } = await finished(json.execution_id);
    assert.deepEqual([done.rerun_of, done.rerun_from, done.steps[0].kept], [null, 'step-2', true]);
  });
});
