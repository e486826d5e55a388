import assert from 'node:assert/strict';
import { viewOfRow } from '../../src/database/tasks/run-views.ts';
import { useOwnRuns, useRuns } from '../support/runs.ts';

const AGENTS = `
agents: { ada: { instructions: work } }
defaults: { run_time_limit: 2 min, step_time_limit: 1 min, retry: { maximum_attempts: 2, initial_interval: 10 ms, backoff_coefficient: 2, maximum_interval: 20 ms } }
teams:
  feature: [{ step: one, agent: ada, time_limit: 200 ms }]
  bug: [{ step: left, agent: ada, after: [] }, { step: right, agent: ada, after: [] }, { step: join, agent: ada, after: [left, right] }]
  spec: [{ step: one, agent: ada }, { step: two, agent: ada }]
  chore: [{ step: one, agent: ada }]
`;

describe('a run', function () {
  const runs = useRuns();

  it('goes from initializing through planning and executing to completed, and records each change once', async () => {
    const id = await runs.submit({ rehearsal: { steps: 3, progress_events: 4 } });
    const row = await runs.reaches(id, 'completed');
    const events = await runs.events(id);
    assert.deepEqual(
      events.map((event) => event.seq),
      events.map((_, index) => index + 1),
    );
    assert.deepEqual(
      events.filter((event) => event.type === 'state.changed').map(({ data }) => [data['from'], data['to']]),
      [
        ['initializing', 'planning'],
        ['planning', 'executing'],
        ['executing', 'completed'],
      ],
    );
    assert.equal(events.filter((event) => event.type === 'step.progress').length, 12);
    assert.equal(events.at(-1)?.type, 'run.ended');
    assert.equal(row.view_seq, row.last_seq);
    assert.deepEqual(
      row.steps.map((step) => [step.name, step.status, step.attempt]),
      [1, 2, 3].map((number) => [`step-${number}`, 'completed', 1]),
    );
    assert.equal(row.output?.['backend'], 'rehearsal');
  });

  it('returns the same detail by query as the database has', async () => {
    const id = await runs.submit({ rehearsal: { steps: 2, step_ms: 60_000 } });
    await runs.becomes('the step is running', id, ({ steps }) => steps[0]?.status === 'running');
    const queried = await runs.view(id);
    assert.deepEqual(queried, viewOfRow(await runs.row(id)));
    await runs.control.cancel(id, { by: 'test' });
    await runs.reaches(id, 'cancelled');
  });

  it('fails at an unrecoverable step, keeps the earlier results and skips the rest', async () => {
    const id = await runs.submit({ rehearsal: { steps: 3, unrecoverable: { step: 2 } } });
    const row = await runs.reaches(id, 'failed');
    assert.deepEqual(
      row.steps.map((step) => step.status),
      ['completed', 'failed', 'skipped'],
    );
    assert.equal(row.errors.length, 1);
    const done = row.output?.['steps'];
    assert.ok(Array.isArray(done) && done.length === 1);
  });

  it('is escalated with the reason if an agent escalates', async () => {
    const id = await runs.submit({ rehearsal: { escalate: { step: 1, reason: 'which colour?' } } });
    const row = await runs.reaches(id, 'escalated');
    assert.equal(row.escalation?.reason, 'which colour?');
    assert.equal(row.escalation?.step, 'design');
    const types = (await runs.events(id)).map((event) => event.type);
    assert.ok(types.includes('escalation.requested'));
  });

  it('fails in planning if the rehearsal names a missing step', async () => {
    const id = await runs.submit({ rehearsal: { steps: 1, unrecoverable: { step: 5 } } });
    const row = await runs.reaches(id, 'failed');
    assert.equal(row.errors[0]?.code, 'planning_failed');
    assert.deepEqual(row.steps, []);
  });

  it('ends in Temporal as failed if it failed, otherwise as completed', async () => {
    const status = async (id: string) => {
      await runs.client.workflow
        .getHandle(id)
        .result()
        .catch(() => {});
      return (await runs.client.workflow.getHandle(id).describe()).status.name;
    };
    const good = await runs.submit({});
    const bad = await runs.submit({ rehearsal: { unrecoverable: { step: 1 } } });
    assert.deepEqual([await status(good), await status(bad)], ['COMPLETED', 'FAILED']);
  });

  const attributesOf = async (id: string) => {
    const { typedSearchAttributes } = await runs.client.workflow.getHandle(id).describe();
    return Object.fromEntries(typedSearchAttributes.getAll().map(({ key, value }) => [key.name, value]));
  };

  it('shows an end in its search attributes that was recorded without its workflow', async () => {
    const id = await runs.submit({ rehearsal: { steps: 2, step_ms: 60_000 } });
    await runs.becomes('the step is running', id, ({ steps }) => steps[0]?.status === 'running');
    // As after an outage in which Temporal lost the workflow task that recorded the end.
    await runs.database.em
      .fork()
      .execute(`update task_runs set state = 'escalated', completed_at = now() where id = ?`, [id]);
    await runs.control.pause(id, { by: 'test' });
    assert.deepEqual(await runs.client.workflow.getHandle(id).result(), { state: 'escalated' });
    assert.equal((await attributesOf(id))['BatonState'], 'escalated');
  });

  it('has search attributes, a summary and descriptions of its signals in Temporal', async () => {
    const id = await runs.submit({ taskType: 'chore' });
    await runs.reaches(id, 'completed');
    await runs.client.workflow.getHandle(id).result();
    const description = await runs.client.workflow.getHandle(id).describe();
    assert.equal(await description.staticSummary(), 'A test');
    const attributes = await attributesOf(id);
    assert.equal(attributes['BatonState'], 'completed');
    assert.equal(attributes['BatonTaskType'], 'chore');
    assert.equal(attributes['BatonProject'], runs.installation.project_id);
    assert.equal(attributes['BatonWorkspace'], runs.installation.workspace_id);
    const metadata = await runs.client.workflow.getHandle(id).query<{
      definition?: { signalDefinitions?: { name?: string; description?: string }[] };
    }>('__temporal_workflow_metadata');
    const described = metadata.definition?.signalDefinitions?.filter((signal) => signal.description) ?? [];
    assert.deepEqual(
      described.map((signal) => signal.name ?? '').toSorted((a, b) => a.localeCompare(b)),
      ['approval-asked', 'cancel', 'continue', 'engine-paused', 'pause'],
    );
  });

  it('ends if its row was deleted', async () => {
    const id = await runs.store();
    await runs.database.em.fork().execute('delete from task_runs where id = ?', [id]);
    await runs.control.start({
      id,
      workspaceId: runs.installation.workspace_id,
      projectId: runs.installation.project_id,
      title: 'gone',
      taskType: 'feature',
      rehearsal: null,
      hasCallback: true,
      createdAt: new Date(),
    });
    const result = await runs.client.workflow.getHandle(id).result();
    assert.deepEqual(result, { state: 'initializing' });
  });
});

/** time.test.ts shows how long a run may take, and that pauses do not count. */
describe('the plan of a run', function () {
  const runs = useOwnRuns({ agents: AGENTS });

  it('retries a failed step, and the run completes if the retry succeeds', async () => {
    const id = await runs.submit({ taskType: 'spec', rehearsal: { fail: { step: 2, times: 1 } } });
    const row = await runs.reaches(id, 'completed');
    assert.equal(row.steps[1]?.attempt, 2);
    assert.deepEqual(row.errors, []);
    const failed = (await runs.events(id)).filter((event) => event.type === 'step.failed');
    assert.deepEqual(
      failed.map((event) => event.data['retry_in_ms']),
      [10],
    );
  });

  it('fails the run if a step fails at every attempt', async () => {
    const id = await runs.submit({ taskType: 'chore', rehearsal: { fail: { step: 1, times: 9 } } });
    const row = await runs.reaches(id, 'failed');
    assert.equal(row.steps[0]?.attempt, 2);
    assert.deepEqual(
      row.errors.map((error) => [error.code, error.step, error.agent]),
      [['step_failed', 'one', 'ada']],
    );
  });

  it('retries a step after its time limit, then fails the run', async () => {
    const id = await runs.submit({ rehearsal: { step_ms: 60_000 } });
    const row = await runs.reaches(id, 'failed');
    assert.equal(row.errors[0]?.code, 'step_timed_out');
    assert.equal(row.steps[0]?.attempt, 2);
  });

  it('runs independent steps in parallel', async () => {
    const id = await runs.submit({ taskType: 'bug', rehearsal: { step_ms: 260 } });
    const row = await runs.reaches(id, 'completed');
    const [left, right, join] = row.steps;
    assert.ok(
      left?.started_at && right?.completed_at && left.completed_at && right.started_at && join?.started_at,
    );
    assert.ok(
      right.started_at < left.completed_at && left.started_at < right.completed_at,
      'the steps overlap',
    );
    assert.ok(join.started_at >= left.completed_at && join.started_at >= right.completed_at);
  });
});
