import type { Catalogue } from '../agents/catalogue.ts';
import { planRun, type Planned, type Task } from '../agents/plan.ts';
import { takeUpPlan } from '../agents/plan-again.ts';
import { stepIdsOf } from '../agents/step-ids.ts';
import { giveUpCallback } from '../database/callbacks.ts';
import type { Database } from '../database/connect.ts';
import { noteEscalation } from '../database/escalations.ts';
import { recordChange } from '../database/feed.ts';
import { storedPlan } from '../database/reruns.ts';
import type { RecordOutcome, RunChange } from '../domain/run-change.ts';

export type RunRecords = ReturnType<typeof createRunRecords>;

type Means = {
  database: Database;
  catalogue: Catalogue;
  /** Told of every change that was written; of a repeat after a crash once more. */
  onRecorded?: ((change: RunChange) => void) | undefined;
};

/** The short database work of a run, called as local activities by the worker that runs the workflow. */
export function createRunRecords({ database, catalogue, onRecorded }: Means) {
  async function record(change: RunChange): Promise<RecordOutcome> {
    const outcome = await recordChange(database, change);
    if (outcome.outcome === 'recorded') onRecorded?.(change);
    return outcome;
  }

  return {
    /** Writes a change of a run, and leaves notices where it asks for a human; repeats write nothing. */
    async recordRun(change: RunChange): Promise<RecordOutcome> {
      const outcome = await record(change);
      const { view, executionId } = change;
      const isOurs = outcome.outcome === 'recorded' && view?.state === 'escalated';
      if (isOurs && view.escalation) await noteEscalation(database, executionId, view.escalation);
      return outcome;
    },

    /** Writes that planning has begun, then chooses the team and writes the steps, or takes up the plan that lies ready. */
    async planRun(news: RunChange, task: Task): Promise<{ recorded: RecordOutcome; planned: Planned }> {
      const recorded = await record(news);
      const plan = task.hasPlan ? await storedPlan(database, news.executionId) : null;
      if (plan) return { recorded, planned: takeUpPlan(catalogue, task, plan) };
      return { recorded, planned: planRun(catalogue, task, stepIdsOf(news.executionId)) };
    },

    /** Notes that a callback could not be sent; one that was settled before stays as it is. */
    async giveUpCallback(executionId: string): Promise<void> {
      await giveUpCallback(database, executionId, new Date());
    },
  };
}
