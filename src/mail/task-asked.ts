import { MAX_QUESTION_LENGTH } from '../domain/common/limits.ts';
import { oneLine } from './one-line.ts';

/** The content of the mail about a question of an agent. */
export type AskingTask = {
  executionId: string;
  title: string;
  project: string;
  question: string;
  step: string | null;
  agent: string | null;
  askedAt: Date;
  /** The workspace's name. */
  workspace: string;
  /** Name of the recipient. */
  person: string;
};

/** Returns subject and text of the mail that asks a person to answer the question of an agent (docs/agents.md). */
export function taskAskedMail(task: AskingTask, baseUrl: string) {
  const title = oneLine(task.title);
  const at = `${task.askedAt.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
  const who = oneLine(task.agent ?? '') || 'an agent';
  const where = task.step === null ? '' : ` in the step ${oneLine(task.step)}`;
  const text = `Hello ${oneLine(task.person) || 'colleague'},

the task "${title}" of the project "${oneLine(task.project)}" waits for your answer. At ${at}, ${who} asked${where}:

${oneLine(task.question, MAX_QUESTION_LENGTH)}

The run is paused until someone answers. Open the run to answer, or to cancel it:
${baseUrl}/orchestration/${task.executionId}

You receive this mail because you can manage tasks in the workspace "${oneLine(task.workspace)}".
`;
  return { subject: `Task ${title} waits for your answer`, text };
}
