import { activityInfo, Context } from '@temporalio/activity';
import { rehearseStep, type ProgressReport } from '../agents/rehearsal.ts';
import type { Database } from '../database/connect.ts';
import { recordChange } from '../database/feed.ts';
import type { StepOutcome, StepWork } from '../domain/step-work.ts';
import { keepBeating } from './heartbeat.ts';

export type RehearsalActivities = ReturnType<typeof createRehearsalActivities>;

/** The rehearsal backend as an activity, local or not as the workflow chooses. */
export function createRehearsalActivities({ database }: { database: Database }) {
  return {
    /** Plays one attempt of a step; its progress goes into the feed while it lasts. */
    async rehearse(work: StepWork): Promise<StepOutcome> {
      const stopBeating = activityInfo().isLocal ? () => {} : keepBeating();
      const report = (reports: ProgressReport[]) =>
        recordChange(database, {
          executionId: work.executionId,
          view: null,
          entries: reports.map((entry) => progressEntry(work, entry)),
        }).then(() => {});
      try {
        return await rehearseStep(work, { report, signal: Context.current().cancellationSignal });
      } finally {
        stopBeating();
      }
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
