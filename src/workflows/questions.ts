import type { Answer, ContinueRequest, RunState } from '../domain/tasks/run-state.ts';

type OnAnswer = (answer: Answer) => void | Promise<void>;

/**
 * Questions of agents to people. Each question pauses the run, one at a time in the order they were asked. A person
 * answers by continuing the run. Nothing else can answer: no output of a tool or a model gets here.
 */
export class Questions {
  readonly #state: RunState;
  readonly #waiting = new Map<number, OnAnswer>();

  constructor(state: RunState) {
    this.#state = state;
  }

  /** Asks for a step. `onAnswer` is called once, when somebody continues the run. */
  ask(stepId: string, text: string, onAnswer: OnAnswer): void {
    const number = this.#state.ask(stepId, text, Date.now());
    if (number !== null) this.#waiting.set(number, onAnswer);
  }

  /** Continues the run, unless the request names another question. Returns a function that delivers the answer to the agent that asked. */
  continue(request: ContinueRequest): () => Promise<void> {
    const answered = this.#state.continue(request, Date.now());
    return async () => {
      if (answered === null) return;
      const onAnswer = this.#waiting.get(answered.number);
      this.#waiting.delete(answered.number);
      await onAnswer?.(answered.answer);
    };
  }
}
