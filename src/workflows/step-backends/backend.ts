import type { RecordOutcome, RunChange } from '../../domain/tasks/run-change.ts';
import type { Answer } from '../../domain/tasks/run-state.ts';
import type { AgentWork, StepOutcome, StepWork } from '../../domain/tasks/step-work.ts';

/** What a backend may know of the run around its step. */
export type Dependencies = {
  isPaused(): boolean;
  /** Asks a person and waits for the answer; the run is paused meanwhile. */
  ask(text: string): Promise<Answer>;
  /** The step's work as an agent is told of it. */
  agentWork(): AgentWork;
};

/** Does the work of one attempt of a step, as workflow code: whatever leaves the workflow is an activity. */
export type StepBackend = {
  /** Answers how the work ended; throws only when it was cancelled. */
  work(work: StepWork, around: Dependencies): Promise<StepOutcome>;
  /**
   * For work that takes less than a moment: one local activity writes the news of the run and does the work.
   * Only a step that works alone is asked for: of two local activities in flight together a replay may learn in
   * one activation where the first execution learnt in two, and then what follows gets other numbers.
   */
  brief?: {
    fits(work: StepWork): boolean;
    work(news: RunChange, work: StepWork): Promise<{ recorded: RecordOutcome; outcome: StepOutcome | null }>;
  };
};
