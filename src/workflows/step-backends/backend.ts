import type { RecordOutcome, RunChange } from '../../domain/tasks/run-change.ts';
import type { Answer } from '../../domain/tasks/run-state.ts';
import type { AgentWork, StepOutcome, StepWork } from '../../domain/tasks/step-work.ts';
import type { Agents, ChildEnd } from '../agent-child.ts';

/** What a backend can use of the run. */
export type Dependencies = {
  isPaused(): boolean;
  /**
   * Pauses the run, asks a person and waits for the answer. The backend must have no activity in progress during the
   * wait, since the run may continue as a new execution. `notes` is what the backend needs there to continue after the answer.
   */
  ask(text: string, notes?: unknown): Promise<Answer>;
  /** The notes of a question that an earlier execution has asked; null if there is none. {@link ask} waits for its answer. */
  notes: unknown;
  /** Runs a child workflow, which may outlive this execution. */
  runAgent<Result>(child: Parameters<Agents['run']>[0]): Promise<ChildEnd<Result>>;
  /** Does work that a cancel does not stop, and that the run waits for before it ends. Ignores its failure. */
  afterwards(work: () => Promise<void>): Promise<void>;
  /** Returns the step's work for an agent. */
  agentWork(): AgentWork;
};

/** Runs one attempt of a step, as workflow code. Everything outside the workflow is an activity. */
export type StepBackend = {
  /**
   * Returns how the work ended. Throws only if it was cancelled. If the run continues as a new execution while a
   * question or a child of the backend is open, the work begins again there.
   */
  work(work: StepWork, dependencies: Dependencies): Promise<StepOutcome>;
  /**
   * For short work: one local activity records the pending change of the run and does the work. Used only for a
   * step that runs alone. If two local activities run concurrently, a replay may resolve both in one activation where
   * the first execution used two, and the commands that follow would get other numbers.
   */
  short?: {
    fits(work: StepWork): boolean;
    /** Returns how long the work takes, in milliseconds. */
    ms(work: StepWork): number;
    work(
      change: RunChange,
      work: StepWork,
    ): Promise<{ recorded: RecordOutcome; outcome: StepOutcome | null }>;
  };
};
