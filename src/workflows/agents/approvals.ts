import { condition, getExternalWorkflowHandle, setHandler, workflowInfo } from '@temporalio/workflow';
import {
  approvalAnsweredSignal,
  approvalAskedSignal,
  type ApprovalAnswered,
} from '../../temporal/task-messages.ts';

/** Questions of an agent to people. They go through its run, which stays paused until somebody continues it. */
export class Approvals {
  readonly #answers = new Map<number, ApprovalAnswered>();

  constructor() {
    setHandler(
      approvalAnsweredSignal,
      (answer) => {
        // Only the run sends this signal. One without its input, sent manually, is ignored.
        if (typeof answer?.call === 'number') this.#answers.set(answer.call, answer);
      },
      { description: 'Sent by the run when a person has answered' },
    );
  }

  /** Asks a question and waits for its answer. Only the run sends it, when a person continues the run. */
  async ask(stepId: string, attempt: number, call: number, text: string): Promise<ApprovalAnswered> {
    const { parent } = workflowInfo();
    if (!parent) throw new RangeError('the workflow of an agent has no parent run');
    await getExternalWorkflowHandle(parent.workflowId).signal(approvalAskedSignal, {
      stepId,
      attempt,
      call,
      text,
    });
    await condition(() => this.#answers.has(call));
    const answer = this.#answers.get(call);
    if (!answer) throw new RangeError('the answer was removed');
    return answer;
  }
}
