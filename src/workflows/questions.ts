import { getExternalWorkflowHandle } from '@temporalio/workflow';
import type { Answer, ContinueRequest, RunState } from '../domain/tasks/run-state.ts';
import { approvalAnsweredSignal } from '../temporal/task-messages.ts';

type OnAnswer = (answer: Answer) => void | Promise<void>;

/** A call of an agent whose workflow waits for the answer of a person. */
export type AgentCall = { workflowId: string; call: number };

/**
 * Questions of agents to people. Each question pauses the run, one at a time in the order they were asked. A person
 * answers by continuing the run. Nothing else can answer: no output of a tool or a model gets here.
 */
export class Questions {
  readonly #state: RunState;
  readonly #waiting = new Map<number, OnAnswer>();
  readonly #agents: Map<number, AgentCall>;

  /** `asked`: questions of agents by number, from an earlier execution of the workflow. */
  constructor(state: RunState, asked: readonly [number, AgentCall][] = []) {
    this.#state = state;
    this.#agents = new Map(asked);
  }

  /**
   * Asks a question of a step of this workflow. `onAnswer` is called once, when somebody continues the run. Returns the
   * number of the question; null if the run has ended.
   */
  ask(stepId: string, text: string, onAnswer: OnAnswer): number | null {
    const number = this.#state.ask(stepId, text, Date.now());
    if (number !== null) this.expect(number, onAnswer);
    return number;
  }

  /** Registers `onAnswer` for a question that an earlier execution of the workflow has asked. */
  expect(number: number, onAnswer: OnAnswer): void {
    this.#waiting.set(number, onAnswer);
  }

  /** Asks a question of an agent with a separate workflow, which gets the answer as a signal. */
  askForAgent(stepId: string, text: string, call: AgentCall): void {
    const number = this.#state.ask(stepId, text, Date.now());
    if (number !== null) this.#agents.set(number, call);
  }

  /** Returns the unanswered questions of agents with separate workflows, by number. */
  ofAgents(): [number, AgentCall][] {
    return [...this.#agents];
  }

  /** Continues the run, unless the request names another question. Returns a function that delivers the answer to the agent that asked. */
  continue(request: ContinueRequest): () => Promise<void> {
    const answered = this.#state.continue(request, Date.now());
    return async () => {
      if (answered === null) return;
      const { number, answer } = answered;
      const onAnswer = this.#waiting.get(number);
      const agent = this.#agents.get(number);
      this.#waiting.delete(number);
      this.#agents.delete(number);
      if (agent) await signalAnswer(agent, answer);
      else await onAnswer?.(answer);
    };
  }
}

async function signalAnswer({ workflowId, call }: AgentCall, answer: Answer): Promise<void> {
  const asking = getExternalWorkflowHandle(workflowId);
  // The workflow that asked may have ended. Then nothing waits for the answer.
  await asking.signal(approvalAnsweredSignal, { ...answer, call }).catch(() => {});
}
