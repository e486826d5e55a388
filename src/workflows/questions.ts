import { getExternalWorkflowHandle, patched } from '@temporalio/workflow';
import type { Answer, ContinueRequest, RunState } from '../domain/tasks/run-state.ts';
import { approvalAnsweredSignal } from '../temporal/task-messages.ts';

type OnAnswer = (answer: Answer) => void | Promise<void>;

/** A call of an agent whose workflow waits for the answer of a person. */
export type AgentCall = { workflowId: string; call: number };

/** What the next execution of a workflow takes over of its questions. */
export type CarriedQuestions = {
  /** Unanswered questions of agents with separate workflows, by number. */
  asked: [number, AgentCall][];
  /** By the ids of questions that are not asked yet: their answers. Absent in runs of earlier versions. */
  early?: [string, ContinueRequest][];
};

/**
 * Questions of agents to people. Each question pauses the run, one at a time in the order they were asked. A person
 * answers by continuing the run. Nothing else can answer: no output of a tool or a model gets here.
 */
export class Questions {
  readonly #state: RunState;
  readonly #waiting = new Map<number, OnAnswer>();
  readonly #agents: Map<number, AgentCall>;
  /**
   * By the ids of questions that are not asked yet: their answers. People see a question as soon as it is recorded. If the
   * workflow task that asked it is lost after that, a later one asks it again, and gets the answer first.
   */
  readonly #early: Map<string, ContinueRequest>;

  /** `carried`: what an earlier execution of the workflow has left. */
  constructor(state: RunState, carried: CarriedQuestions | null = null) {
    this.#state = state;
    this.#agents = new Map(carried?.asked);
    this.#early = new Map(carried?.early);
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

  /** Returns what the next execution of the workflow takes over. */
  carried(): CarriedQuestions {
    return { asked: [...this.#agents], early: [...this.#early] };
  }

  /**
   * Continues the run, unless the request names another question. Returns a function that delivers the answer to the agent
   * that asked. An answer to a question that is not asked yet is kept for {@link continueEarly}.
   */
  continue(request: ContinueRequest): () => Promise<void> {
    const { question } = request;
    if (typeof question === 'string' && this.#state.isUnasked(question) && patched('keeps-early-answers')) {
      this.#early.set(question, request);
      return async () => {};
    }
    const answered = this.#state.continue(request, Date.now());
    // The next question may be open now.
    const continueNext = this.continueEarly();
    return async () => {
      await this.#deliver(answered);
      await continueNext();
    };
  }

  /** Continues the run if the answer to the open question came before it. Returns a function like {@link continue}. */
  continueEarly(): () => Promise<void> {
    const open = this.#state.openQuestion;
    const request = open === null ? undefined : this.#early.get(open);
    if (open === null || request === undefined) return async () => {};
    this.#early.delete(open);
    return this.continue(request);
  }

  async #deliver(answered: ReturnType<RunState['continue']>): Promise<void> {
    if (answered === null) return;
    const { number, answer } = answered;
    const onAnswer = this.#waiting.get(number);
    const agent = this.#agents.get(number);
    this.#waiting.delete(number);
    this.#agents.delete(number);
    if (agent) await signalAnswer(agent, answer);
    else await onAnswer?.(answer);
  }
}

async function signalAnswer({ workflowId, call }: AgentCall, answer: Answer): Promise<void> {
  const asking = getExternalWorkflowHandle(workflowId);
  // The workflow that asked may have ended. Then nothing waits for the answer.
  await asking.signal(approvalAnsweredSignal, { ...answer, call }).catch(() => {});
}
