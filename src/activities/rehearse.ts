import { Context } from '@temporalio/activity';
import { rehearseStep, type ProgressReport } from '../agents/rehearsal.ts';
import type { Database } from '../database/database.ts';
import { findLastProgress, recordChange } from '../database/tasks/feed.ts';
import type { RecordOutcome, RunChange } from '../domain/tasks/run-change.ts';
import type { StepOutcome, StepWork } from '../domain/tasks/step-work.ts';
import { createArtifactActivities } from './agents/artifacts.ts';
import { startHeartbeat } from './heartbeat.ts';
import { createProgressMerger } from './progress-merger.ts';

export type RehearsalActivities = ReturnType<typeof createRehearsalActivities>;

type Dependencies = {
  database: Database;
  /** Called for every recorded change of a run. */
  onRecorded?: ((change: RunChange) => void) | undefined;
};

/** Creates the activities of the rehearsal backend. */
export function createRehearsalActivities({ database, onRecorded }: Dependencies) {
  const artifacts = createArtifactActivities({ database, clock: () => new Date() });
  /** Simulates a step. All its progress is in the feed before it ends. */
  const simulate = async (work: StepWork): Promise<StepOutcome> => {
    const { info, cancellationSignal: signal } = Context.current();
    // Progress from before a crash is in the feed already. The repeat continues after it.
    const lastReported =
      info.attempt > 1 ? await findLastProgress(database, work.executionId, progressKey(work)) : 0;
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
  /** Saves the document that the script assigns to the step. */
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
    /** Simulates one attempt of a step and writes its progress to the feed. */
    async rehearse(work: StepWork): Promise<StepOutcome> {
      using _heartbeat = startHeartbeat();
      return await simulate(work);
    },

    /** Simulates a short step as a local activity, which first records the pending change of the run. */
    async rehearseBriefly(
      change: RunChange,
      work: StepWork,
    ): Promise<{ recorded: RecordOutcome; outcome: StepOutcome | null }> {
      const recorded = await recordChange(database, change);
      if (recorded.outcome !== 'recorded') return { recorded, outcome: null };
      onRecorded?.(change);
      return { recorded, outcome: await simulate(work) };
    },
  };
}

/** Returns the prefix of the keys of a step's progress events. The number of the report follows. */
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
