import { Context } from '@temporalio/activity';
import { rehearseStep, type ProgressReport } from '../agents/rehearsal.ts';
import type { Database } from '../database/database.ts';
import { lastProgress, recordChange } from '../database/tasks/feed.ts';
import type { RecordOutcome, RunChange } from '../domain/tasks/run-change.ts';
import type { StepOutcome, StepWork } from '../domain/tasks/step-work.ts';
import { createArtifactActivities } from './agents/artifacts.ts';
import { startHeartbeat } from './heartbeat.ts';
import { createProgressMerger } from './progress-merger.ts';

export type RehearsalActivities = ReturnType<typeof createRehearsalActivities>;

type Dependencies = {
  database: Database;
  /** Told of every change of a run that was written. */
  onRecorded?: ((change: RunChange) => void) | undefined;
};

/** The rehearsal backend as activities. */
export function createRehearsalActivities({ database, onRecorded }: Dependencies) {
  const artifacts = createArtifactActivities({ database, clock: () => new Date() });
  /** Plays a step; its progress is in the feed, up to the last report, before it ends. */
  const play = async (work: StepWork): Promise<StepOutcome> => {
    const { info, cancellationSignal: signal } = Context.current();
    // What was done before a crash has been told of; who does it again goes on telling from there.
    const lastReported =
      info.attempt > 1 ? await lastProgress(database, work.executionId, progressKey(work)) : 0;
    const progress = createProgressMerger<ProgressReport>(async (reports) => {
      const entries = reports.map((report) => progressEntry(work, report));
      await recordChange(database, { executionId: work.executionId, view: null, entries });
    });
    const report = (one: ProgressReport) => one.number > lastReported && progress.report(one);
    try {
      const outcome = await rehearseStep(work, { signal, report });
      await progress.flush();
      const artifactsSaved = await saveScriptedArtifact(work, outcome);
      return artifactsSaved.length > 0 ? { ...outcome, artifacts: artifactsSaved } : outcome;
    } finally {
      await progress.drop();
    }
  };
  /** Leaves the document behind that the script gives to the step. */
  const saveScriptedArtifact = async (
    { executionId, step, number, rehearsal }: StepWork,
    { kind }: StepOutcome,
  ) => {
    const given = rehearsal?.artifact;
    if (kind !== 'completed' || given?.step !== number) return [];
    const input = { name: given.name, media_type: given.media_type ?? 'text/plain', content: given.text };
    const saving = { place: { executionId, stepId: step.id }, agent: step.agent, input };
    const { artifact } = await artifacts.saveArtifact(saving);
    return artifact ? [artifact] : [];
  };
  return {
    /** Plays one attempt of a step; its progress goes into the feed while it lasts. */
    async rehearse(work: StepWork): Promise<StepOutcome> {
      const stopHeartbeat = startHeartbeat();
      try {
        return await play(work);
      } finally {
        stopHeartbeat();
      }
    },

    /** The same for a short step, as a local activity that first writes the news of the run. */
    async rehearseBriefly(
      change: RunChange,
      work: StepWork,
    ): Promise<{ recorded: RecordOutcome; outcome: StepOutcome | null }> {
      const recorded = await recordChange(database, change);
      if (recorded.outcome !== 'recorded') return { recorded, outcome: null };
      onRecorded?.(change);
      return { recorded, outcome: await play(work) };
    },
  };
}

/** What the keys of a step's progress begin with; the number of the report is the rest. */
function progressKey(work: StepWork): string {
  return `step.progress:${work.step.id}:${work.attempt}:`;
}

function progressEntry(work: StepWork, { number, percent, at }: ProgressReport) {
  const { id, name, agent } = work.step;
  return {
    key: `${progressKey(work)}${number}`,
    type: 'step.progress' as const,
    at: at.toISOString(),
    data: { step: { id, name, agent, attempt: work.attempt }, percent },
  };
}
