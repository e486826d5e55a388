/**
 * A program with which people answer the questions of agents in a terminal, the oldest first.
 *
 *   npm exec -c 'node examples/approvals/approve.ts'              (uses the Node of the checkout)
 *   npm exec -c 'node examples/approvals/approve.ts team=prices'  only of tasks with this metadata
 *
 * A line answers the question, an empty line leaves it to somebody else. Several people can run it at the same time: the
 * first answer counts. In a folder with a running local service it needs no settings; otherwise BATON_URL and BATON_API_KEY.
 */
import { createInterface } from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';
import { BatonProblem, BatonUnreachable } from 'baton/client';
import { baton } from '../service.ts';

type Question = {
  run: string;
  title: string;
  id: string | undefined;
  agent: string;
  text: string;
  at: string;
};

const POLL_MS = 1_000;
const LOOK_MS = 100;

const metadata = Object.fromEntries(process.argv.slice(2).map(readField));
/** Lines that were typed and not used. */
const lines: string[] = [];
let isInputOver = false;
createInterface({ input: process.stdin })
  .on('line', (line) => lines.push(line))
  .once('close', () => (isInputOver = true));
/** Questions that were answered or left, by `nameOf`. */
const done = new Set<string>();

console.log('Waiting for questions. Ctrl-C ends this program.');
try {
  for (let next = await nextQuestion(); next !== null; next = await nextQuestion()) await handle(next);
} catch (error) {
  console.error(String(error));
  process.exitCode = 1;
}
process.exit();

async function handle(question: Question): Promise<void> {
  console.log(`\n${question.title} (${question.run})\n${question.agent} asks: ${question.text}`);
  while (lines.length === 0 && !isInputOver) await wait(LOOK_MS);
  const line = lines.shift();
  done.add(nameOf(question));
  if (line?.trim()) console.log(await answer(question, line));
}

/** Sends an answer. Returns what became of it. */
async function answer({ run, id }: Question, text: string): Promise<string> {
  try {
    // The id of the question makes sure that this text does not answer a later one.
    await baton.tasks.continue(run, { reason: text, question: id });
    return 'The agent has the answer.';
  } catch (error) {
    if (!(error instanceof BatonProblem)) throw error;
    return error.status === 409 ? 'Too late: the task no longer waits for this answer.' : error.message;
  }
}

/** Waits for a question that is not done. Returns the oldest; null if nobody can type an answer any more. */
async function nextQuestion(): Promise<Question | null> {
  while (!isInputOver || lines.length > 0) {
    const [oldest] = (await openQuestions()).filter((question) => !done.has(nameOf(question)));
    if (oldest) return oldest;
    await wait(POLL_MS);
  }
  return null;
}

/** Returns the open questions, oldest first; none while the service is unreachable. */
async function openQuestions(): Promise<Question[]> {
  try {
    const open: Question[] = [];
    for await (const task of baton.tasks.list({ state: ['paused'], needs_me: 'true', metadata })) {
      if (task.question === null) continue;
      const { id, agent, text, at } = task.question;
      open.push({ run: task.execution_id, title: task.title, id, agent, text, at });
    }
    return open.toSorted((one, other) => Date.parse(one.at) - Date.parse(other.at));
  } catch (error) {
    if (!(error instanceof BatonUnreachable)) throw error;
    console.error(error.message);
    return [];
  }
}

function nameOf({ run, id, at }: Question): string {
  return `${run} ${id ?? at}`;
}

function readField(text: string): [string, string] {
  const at = text.indexOf('=');
  if (at > 0) return [text.slice(0, at), text.slice(at + 1)];
  console.error(`${text} is not NAME=VALUE, such as team=prices.`);
  process.exit(2);
}
