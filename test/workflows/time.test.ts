import assert from 'node:assert/strict';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { Runtime, Worker } from '@temporalio/worker';
import { pino } from 'pino';
import type { RunRecords } from '../../src/activities/run-records.ts';
import { parseCatalogue } from '../../src/agents/catalogue.ts';
import { planRun } from '../../src/agents/plan.ts';
import type { RunChange } from '../../src/domain/run-change.ts';
import { taskQueues, type TaskRunInput } from '../../src/workflows/messages.ts';
import { workflowBundle } from '../../workers/bundle.ts';
import { services } from '../support/services.ts';
import { useRuntime } from '../support/runs.ts';

const HOUR = 3_600_000;
const AGENTS = `
agents: { ada: { instructions: work } }
defaults: { run_time_limit: 24 h, step_time_limit: 30 min, retry: { maximum_attempts: 4, initial_interval: 1 h, backoff_coefficient: 3, maximum_interval: 20 h } }
teams:
  feature: [{ step: one, agent: ada }]
  bug: [{ step: one, agent: ada }]
  spec: [{ step: one, agent: ada }]
  chore: [{ step: one, agent: ada, retry: { maximum_attempts: 9, initial_interval: 10 h, backoff_coefficient: 1, maximum_interval: 10 h } }]
`;

/**
 * Long times, on a server whose clock jumps to the next timer. What the run records is kept in memory here: the
 * database has a clock of its own.
 */
describe('the clock of a run', function () {
  let environment: TestWorkflowEnvironment;
  before(async () => {
    useRuntime(pino({ level: 'silent' }));
    const path = await services().testServerPath();
    environment = await TestWorkflowEnvironment.createTimeSkipping({
      server: { executable: { type: 'existing-path', path } },
    });
  });
  after(() => environment.teardown());

  async function play(input: Pick<TaskRunInput, 'taskType' | 'rehearsal'>): Promise<RunChange[]> {
    const changes: RunChange[] = [];
    const record = (news: RunChange) => {
      changes.push(news);
      return { outcome: 'recorded' as const, lastSeq: changes.length };
    };
    const catalogue = parseCatalogue(AGENTS, 'test');
    let ids = 0;
    const recording: Omit<RunRecords, 'endRun' | 'giveUpCallback'> = {
      recordRun: async (news) => record(news),
      planRun: async (news, task) => ({
        recorded: record(news),
        planned: planRun(catalogue, task, () => `id-${++ids}`),
      }),
    };
    const failing = async (news: RunChange) => ({
      recorded: record(news),
      outcome: { kind: 'failed' as const, message: 'not today' },
    });
    const worker = await Worker.create({
      connection: environment.nativeConnection,
      taskQueue: taskQueues('time').runs,
      workflowBundle: await workflowBundle(Runtime.instance().logger),
      activities: { ...recording, rehearseBriefly: failing },
    });
    const workflowId = `time-${input.taskType}-${Math.random()}`;
    const now = await environment.currentTimeMs();
    const full: TaskRunInput = {
      executionId: workflowId,
      createdAt: new Date(now).toISOString(),
      hasCallback: false,
      // The time-skipping server knows no search attributes, as some services do not.
      findBy: null,
      ...input,
    };
    await worker.runUntil(
      environment.client.workflow
        .execute('taskRun', { workflowId, taskQueue: taskQueues('time').runs, args: [full] })
        .catch(() => {}),
    );
    return changes;
  }

  const startsOf = (changes: RunChange[]) =>
    changes.flatMap((change) => change.entries).filter((entry) => entry.type === 'step.started');

  it('waits between the attempts of a step as its policy says, to the second', async () => {
    const changes = await play({ taskType: 'bug', rehearsal: null });
    const starts = startsOf(changes).map((entry) => Date.parse(entry.at));
    const gaps = starts.slice(1).map((start, index) => Math.round((start - (starts[index] ?? 0)) / 1_000));
    assert.deepEqual(gaps, [3_600, 3 * 3_600, 9 * 3_600]);
    assert.equal(changes.at(-1)?.view?.errors[0]?.code, 'step_failed');
  });

  it('ends a run that has been active for 24 h', async () => {
    const changes = await play({ taskType: 'chore', rehearsal: null });
    const end = changes.at(-1)?.view;
    assert.equal(end?.state, 'failed');
    assert.equal(end?.errors[0]?.code, 'run_timed_out');
    assert.ok(Math.abs((end?.duration_ms ?? 0) - 24 * HOUR) < 5_000, `${end?.duration_ms}`);
    assert.equal(startsOf(changes).length, 3);
  });
});
