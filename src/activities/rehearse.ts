import { Context } from '@temporalio/activity';
import { rehearseStep, type ProgressReport } from '../agents/rehearsal.ts';
import type { Database } from '../database/connect.ts';
import { recordChange } from '../database/feed.ts';
import type { RecordOutcome, RunChange } from '../domain/run-change.ts';
import type { StepOutcome, StepWork } from '../domain/step-work.ts';
import { keepBeating } from './heartbeat.ts';

export type RehearsalActivities = ReturnType<typeof createRehearsalActivities>;

/** The rehearsal backend as activities. */
export function createRehearsalActivities({ database }: { database: Database }) {
  const stageFor = (work: StepWork) => ({
    signal: Context.current().cancellationSignal,
    report: async (reports: ProgressReport[]) => {
      const entries = reports.map((entry) => progressEntry(work, entry));
      await recordChange(database, { executionId: work.executionId, view: null, entries });
    },
  });
  return {
    /** Plays one attempt of a step; its progress goes into the feed while it lasts. */
    async rehearse(work: StepWork): Promise<StepOutcome> {
      const stopBeating = keepBeating();
      try {
        return await rehearseStep(work, stageFor(work));
      } finally {
        stopBeating();
      }
    },

    /** The same for a short step, as a local activity that first writes the news of the run. */
    async rehearseBriefly(
      news: RunChange,
      work: StepWork,
    ): Promise<{ recorded: RecordOutcome; outcome: StepOutcome | null }> {
      const recorded = await recordChange(database, news);
      if (recorded.outcome !== 'recorded') return { recorded, outcome: null };
      return { recorded, outcome: await rehearseStep(work, stageFor(work)) };
    },
  };
}

function progressEntry(work: StepWork, { number, percent, at }: ProgressReport) {
  const { id, name, agent } = work.step;
  return {
    key: `step.progress:${id}:${work.attempt}:${number}`,
    type: 'step.progress' as const,
    at: at.toISOString(),
    data: { step: { id, name, agent, attempt: work.attempt }, percent },
  };
}
