import { MAX_REASON_LENGTH } from '../domain/common/limits.ts';
import { oneLine } from './one-line.ts';

/** What the mail about an escalated run tells. */
export type EscalatedTask = {
  executionId: string;
  title: string;
  project: string;
  /** Why, as the agent said it. */
  reason: string;
  step: string | null;
  agent: string | null;
  escalatedAt: Date;
  /** The workspace's name. */
  workspace: string;
  /** Of the person who is told. */
  person: string;
};

/** Subject and text of the mail that tells somebody that agents ask for a human (docs/agents.md). */
export function taskEscalatedMail(task: EscalatedTask, baseUrl: string) {
  const title = oneLine(task.title);
  const at = `${task.escalatedAt.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
  const who = oneLine(task.agent ?? '') || 'an agent';
  const where = task.step === null ? '' : ` in the step ${oneLine(task.step)}`;
  const text = `Hello ${oneLine(task.person) || 'colleague'},

the task "${title}" of the project "${oneLine(task.project)}" needs a human. At ${at} ${who} asked for one${where}:

${oneLine(task.reason, MAX_REASON_LENGTH)}

The run has ended; what was done so far is kept. See it, and run it again from any of its steps, on this page:
${baseUrl}/orchestration/${task.executionId}

You are told because you may work on the tasks of the workspace "${oneLine(task.workspace)}".
`;
  return { subject: `Task ${title} needs a human`, text };
}
