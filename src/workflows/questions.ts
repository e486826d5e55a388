import type { Answer, RunState, Wish } from '../domain/tasks/run-state.ts';

type OnAnswer = (answer: Answer) => void | Promise<void>;

/**
 * What agents ask a person. Each question pauses the run, one at a time in the order they were asked; continuing the
 * run is what answers it. Nothing else does: what a tool or a model says never comes this way.
 */
export class Questions {
  readonly #state: RunState;
  readonly #waiting = new Map<number, OnAnswer>();

  constructor(state: RunState) {
    this.#state = state;
  }

  /** Asks on behalf of a step; `onAnswer` is called once, when somebody continues the run. */
  ask(stepId: string, text: string, onAnswer: OnAnswer): void {
    const number = this.#state.ask(stepId, text, Date.now());
    if (number !== null) this.#waiting.set(number, onAnswer);
  }

  /** Continues the run. Answers what then is to be told to whoever asked. */
  continue(wish: Wish): () => Promise<void> {
    const answered = this.#state.continue(wish, Date.now());
    return async () => {
      if (answered === null) return;
      const onAnswer = this.#waiting.get(answered.number);
      this.#waiting.delete(answered.number);
      await onAnswer?.(answered.answer);
    };
  }
}
