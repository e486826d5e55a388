import type { Catalogue } from '../agents/catalogue.ts';
import { planRun, type Planned, type Task, adoptPlan } from '../agents/plan.ts';
import { stepIdsOf } from '../database/common/ids.ts';
import { giveUpCallback } from '../database/tasks/callbacks.ts';
import type { Database } from '../database/database.ts';
import { recordChange } from '../database/tasks/feed.ts';
import { findPlan } from '../database/tasks/reruns.ts';
import { createRunNotices } from '../database/tasks/run-notices.ts';
import { needOf, type RecordOutcome, type RunChange } from '../domain/tasks/run-change.ts';
import type { ImmediateCallbacks } from './immediate-callbacks.ts';

export type RunRecords = ReturnType<typeof createRunRecords>;

type Dependencies = {
  database: Database;
  catalogue: Catalogue;
  /** Makes the first attempt of an ended run's callback. Returns false if the callbacks' queue has to continue. */
  callBack: ImmediateCallbacks['attemptNow'];
  /** Called for every recorded change; again for a repeat after a crash. */
  onRecorded?: ((change: RunChange) => void) | undefined;
};

/** Creates the short database activities of a run. The worker that runs the workflow calls them as local activities. */
export function createRunRecords({ database, catalogue, callBack, onRecorded }: Dependencies) {
  async function record(change: RunChange): Promise<RecordOutcome> {
    const outcome = await recordChange(database, change);
    if (outcome.outcome === 'recorded') onRecorded?.(change);
    return outcome;
  }

  /** Records a change, and creates notices if the run needs a person from then on. Repeats write nothing. */
  async function recordAndNotify(change: RunChange): Promise<RecordOutcome> {
    const outcome = await record(change);
    const need = outcome.outcome === 'recorded' ? needOf(change) : null;
    if (need) await createRunNotices(database, change.executionId, `task.${need}`);
    return outcome;
  }

  return {
    recordRun: recordAndNotify,

    /**
     * Records the start of planning, then chooses the team and writes the steps, or adopts the stored plan.
     * `callsBackAtOnce` is part of the run's history. Runs planned before {@link endRun} existed do not have it.
     */
    async planRun(
      change: RunChange,
      task: Task,
    ): Promise<{ recorded: RecordOutcome; planned: Planned; callsBackAtOnce?: true }> {
      const recorded = await recordAndNotify(change);
      const plan = task.hasPlan ? await findPlan(database, change.executionId) : null;
      const planned = plan
        ? adoptPlan(catalogue, task, plan)
        : planRun(catalogue, task, stepIdsOf(change.executionId));
      return { recorded, planned, callsBackAtOnce: true };
    },

    /** Records the end of a run with a callback, and makes the callback's first attempt. */
    async endRun(change: RunChange): Promise<{ recorded: RecordOutcome; calledBack: boolean }> {
      const recorded = await recordAndNotify(change);
      const isOurs = recorded.outcome === 'recorded';
      return { recorded, calledBack: isOurs && (await callBack(change.executionId)) };
    },

    /** Records that a callback, or its manual retry, could not be sent. Does nothing if it has ended already. */
    async giveUpCallback(executionId: string, retryId: string | null = null): Promise<void> {
      await giveUpCallback(database, executionId, new Date(), retryId);
    },
  };
}
