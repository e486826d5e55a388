import type { Catalogue } from '../agents/catalogue.ts';
import { planRun, type Planned, type Task, adoptPlan } from '../agents/plan.ts';
import { stepIdsOf } from '../database/common/ids.ts';
import { giveUpCallback } from '../database/tasks/callbacks.ts';
import type { Database } from '../database/database.ts';
import { createEscalationNotices } from '../database/tasks/escalations.ts';
import { recordChange } from '../database/tasks/feed.ts';
import { storedPlan } from '../database/tasks/reruns.ts';
import type { RecordOutcome, RunChange } from '../domain/tasks/run-change.ts';
import type { ImmediateCallbacks } from './immediate-callbacks.ts';

export type RunRecords = ReturnType<typeof createRunRecords>;

type Dependencies = {
  database: Database;
  catalogue: Catalogue;
  /** Makes the first attempt of an ended run's callback; false where somebody else has to go on. */
  callBack: ImmediateCallbacks['attemptNow'];
  /** Told of every change that was written; of a repeat after a crash once more. */
  onRecorded?: ((change: RunChange) => void) | undefined;
};

/** The short database work of a run, called as local activities by the worker that runs the workflow. */
export function createRunRecords({ database, catalogue, callBack, onRecorded }: Dependencies) {
  async function record(change: RunChange): Promise<RecordOutcome> {
    const outcome = await recordChange(database, change);
    if (outcome.outcome === 'recorded') onRecorded?.(change);
    return outcome;
  }

  /** Writes a change, and leaves notices where it asks for a human; repeats write nothing. */
  async function recordAndNotify(change: RunChange): Promise<RecordOutcome> {
    const outcome = await record(change);
    const { view, executionId } = change;
    const isOurs = outcome.outcome === 'recorded' && view?.state === 'escalated';
    if (isOurs && view.escalation) await createEscalationNotices(database, executionId, view.escalation);
    return outcome;
  }

  return {
    recordRun: recordAndNotify,

    /**
     * Writes that planning has begun, then chooses the team and writes the steps, or takes up the plan that lies ready.
     * `callsBackAtOnce` goes into the run's history: one that was planned before there was {@link endRun} has none.
     */
    async planRun(
      change: RunChange,
      task: Task,
    ): Promise<{ recorded: RecordOutcome; planned: Planned; callsBackAtOnce?: true }> {
      const recorded = await record(change);
      const plan = task.hasPlan ? await storedPlan(database, change.executionId) : null;
      const planned = plan
        ? adoptPlan(catalogue, task, plan)
        : planRun(catalogue, task, stepIdsOf(change.executionId));
      return { recorded, planned, callsBackAtOnce: true };
    },

    /** Writes the end of a run that is told by callback, and makes the callback's first attempt. */
    async endRun(change: RunChange): Promise<{ recorded: RecordOutcome; calledBack: boolean }> {
      const recorded = await recordAndNotify(change);
      const isOurs = recorded.outcome === 'recorded';
      return { recorded, calledBack: isOurs && (await callBack(change.executionId)) };
    },

    /** Notes that a callback could not be sent; one that was settled before stays as it is. */
    async giveUpCallback(executionId: string): Promise<void> {
      await giveUpCallback(database, executionId, new Date());
    },
  };
}
