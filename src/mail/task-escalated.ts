import { MAX_REASON_LENGTH } from '../domain/common/limits.ts';
import { oneLine } from './one-line.ts';

/** The content of the mail about an escalated run. */
export type EscalatedTask = {
  executionId: string;
  title: string;
  project: string;
  /** The agent's reason. */
  reason: string;
  step: string | null;
  agent: string | null;
  escalatedAt: Date;
  /** The workspace's name. */
  workspace: string;
  /** Name of the recipient. */
  person: string;
};

/** Returns subject and text of the mail that asks a person to decide about an escalated run (docs/agents.md). */
export function taskEscalatedMail(task: EscalatedTask, baseUrl: string) {
  const title = oneLine(task.title);
  const at = `${task.escalatedAt.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
  const who = oneLine(task.agent ?? '') || 'an agent';
  const where = task.step === null ? '' : ` in the step ${oneLine(task.step)}`;
  const text = `Hello ${oneLine(task.person) || 'colleague'},

the task "${title}" of the project "${oneLine(task.project)}" needs your decision. At ${at}, ${who} escalated it${where}:

${oneLine(task.reason, MAX_REASON_LENGTH)}

The run has ended. Its completed steps are kept. Open the run to see the details or to rerun it from any step:
${baseUrl}/orchestration/${task.executionId}

You receive this mail because you can manage tasks in the workspace "${oneLine(task.workspace)}".
`;
  return { subject: `Task ${title} needs your decision`, text };
}
