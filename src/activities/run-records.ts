import type { Catalogue } from '../agents/catalogue.ts';
import { planRun } from '../agents/plan.ts';
import { settleCallback } from '../database/callbacks.ts';
import type { Database } from '../database/connect.ts';
import { recordChange, type RecordOutcome, type RunChange } from '../database/feed.ts';
import { findRun } from '../database/task-runs.ts';
import type { Plan } from '../domain/plan.ts';
import type { Rehearsal } from '../domain/rehearsal.ts';

export type RunRecords = ReturnType<typeof createRunRecords>;

/** The short database work of a run, called as local activities by the worker that runs the workflow. */
export function createRunRecords(needs: { database: Database; catalogue: Catalogue; newId: () => string }) {
  const { database, catalogue, newId } = needs;
  return {
    /** Writes a change of a run; repeats write nothing. */
    recordRun(change: RunChange): Promise<RecordOutcome> {
      return recordChange(database, change);
    },

    /** Chooses the team for a run and writes its steps; `error` says why there is nothing to plan with. */
    async planRun(run: {
      executionId: string;
      rehearsal: Rehearsal | null;
    }): Promise<{ plan: Plan } | { error: string }> {
      const row = await findRun(database, run.executionId);
      if (!row) return { error: 'the task is gone' };
      return planRun(catalogue, { taskType: row.task_type, rehearsal: run.rehearsal }, newId);
    },

    /** Settles a callback that could not be sent by any of its attempts. */
    async settleCallback(callback: { executionId: string; status: 'delivered' | 'failed' }): Promise<void> {
      await settleCallback(database, callback.executionId, callback.status);
    },
  };
}
