import type { CallPlace } from './agent-work.ts';

/** What a model call brings along beside the call itself, for whoever makes it and writes the record. */
export type ModelCallNote = {
  place: CallPlace;
  step: { name: string; agent: string };
  /** The longest time of the call, in milliseconds. */
  callTimeMs: number;
  /** Whether what the model says is told in the run's feed. */
  isTold: boolean;
};

/** The name under which it travels among the options for providers. */
export const CALL_NOTE = 'baton';

/** Types of the failures of a call, as Temporal carries them: another try is of no use; all tries failed. */
export const MODEL_FAILURES = { refused: 'ModelRefused', failed: 'ModelFailed', over: 'RunIsOver' } as const;
