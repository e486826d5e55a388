import { randomUUIDv7 } from 'node:crypto';
import type { WorkflowHandle } from '@temporalio/client';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { Runtime, Worker } from '@temporalio/worker';
import { startHeartbeat } from '../../src/activities/heartbeat.ts';
import type { RunRecords } from '../../src/activities/run-records.ts';
import { parseCatalogue } from '../../src/agents/catalogue.ts';
import { planRun } from '../../src/agents/plan.ts';
import type { RunChange } from '../../src/domain/tasks/run-change.ts';
import type { StepOutcome, StepWork } from '../../src/domain/tasks/step-work.ts';
import type { RunView } from '../../src/domain/tasks/run-schemas.ts';
import { taskQueues, type TaskRunInput } from '../../src/temporal/task-messages.ts';
import { workflowBundle } from '../../src/runtime/bundle.ts';
import { eventually } from '../support/eventually.ts';

/** A run on a server that skips time. Its changes are kept in memory, because the database has its own clock. */
export type SkippedRun = {
  handle: WorkflowHandle;
  changes: readonly RunChange[];
  /** Waits until the recorded view fulfils `is`. */
  becomes(what: string, is: (view: RunView) => boolean): Promise<RunView>;
  /** Lets this much time pass on the server. */
  pass(ms: number): Promise<void>;
};

export type SkippedPlay = Pick<TaskRunInput, 'taskType' | 'rehearsal' | 'historyEvents'> & {
  /** Does the work of a step. It fails by default. */
  work?: (work: StepWork) => Promise<StepOutcome>;
  /** Acts on the run before it is left alone until its end. */
  during?: (run: SkippedRun) => Promise<void>;
};

const failing = async (): Promise<StepOutcome> => ({ kind: 'failed', message: 'not today' });

/** Runs a task to its end and returns what it recorded. `agents` is the text of the catalogue. */
export async function playSkipping(
  environment: TestWorkflowEnvironment,
  agents: string,
  { taskType, rehearsal, historyEvents, work = failing, during = async () => {} }: SkippedPlay,
): Promise<RunChange[]> {
  const changes: RunChange[] = [];
  const record = (change: RunChange) => {
    changes.push(change);
    return { outcome: 'recorded' as const, lastSeq: changes.length };
  };
  const catalogue = parseCatalogue(agents, 'test');
  let ids = 0;
  const recording: Omit<RunRecords, 'endRun' | 'giveUpCallback'> = {
    recordRun: async (change) => record(change),
    planRun: async (change, task) => ({
      recorded: record(change),
      planned: planRun(catalogue, task, () => `id-${++ids}`),
    }),
  };
  const workflowId = `skipped-${randomUUIDv7()}`;
  const queues = taskQueues(workflowId);
  const { nativeConnection: connection, client } = environment;
  const runs = await Worker.create({
    connection,
    taskQueue: queues.runs,
    workflowBundle: await workflowBundle(Runtime.instance().logger),
    activities: {
      ...recording,
      rehearseBriefly: async (change: RunChange, asked: StepWork) => ({
        recorded: record(change),
        outcome: await work(asked),
      }),
    },
  });
  const steps = await Worker.create({
    connection,
    taskQueue: queues.agents,
    activities: {
      async rehearse(asked: StepWork) {
        using _heartbeat = startHeartbeat();
        return await work(asked);
      },
    },
  });
  const input: TaskRunInput = {
    executionId: workflowId,
    createdAt: new Date(await environment.currentTimeMs()).toISOString(),
    hasCallback: false,
    // The time-skipping server has no search attributes.
    findBy: null,
    taskType,
    rehearsal,
    ...(historyEvents ? { historyEvents } : {}),
  };
  const viewNow = () => changes.findLast(({ view }) => view !== null)?.view as RunView | undefined;
  await runs.runUntil(
    steps.runUntil(async () => {
      const handle = await client.workflow.start('taskRun', {
        workflowId,
        taskQueue: queues.runs,
        args: [input],
      });
      const run: SkippedRun = {
        handle,
        changes,
        becomes: (what, is) =>
          eventually(what, () => {
            const view = viewNow();
            return view !== undefined && is(view) && view;
          }),
        pass: (ms) => environment.sleep(ms),
      };
      try {
        await during(run);
      } catch (error) {
        await handle.terminate();
        throw error;
      }
      await handle.result().catch(() => {});
    }),
  );
  return changes;
}

/** Returns the recorded entries of a type. */
export function entriesOf(changes: readonly RunChange[], type: RunChange['entries'][number]['type']) {
  return changes.flatMap(({ entries }) => entries).filter((entry) => entry.type === type);
}
