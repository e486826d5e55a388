import { ProtocolError, ProtocolErrorCode, type Server } from '@modelcontextprotocol/server';
import type { TaskType } from '../../domain/tasks/task-run.ts';
import { MAX_DESCRIPTION_LENGTH } from '../../domain/common/limits.ts';

type Prompt = { name: string; title: string; description: string; type: TaskType; asks: string };

const PROMPTS: readonly Prompt[] = [
  {
    name: 'submit_bug',
    title: 'Submit a bug',
    description: 'Submits a bug to a team of agents',
    type: 'bug',
    asks: 'what happens, what should happen instead, how to reproduce it, and where it was seen',
  },
  {
    name: 'submit_feature',
    title: 'Submit a feature',
    description: 'Submits a feature to a team of agents',
    type: 'feature',
    asks: 'who needs it, what they can do afterwards, what is not part of it, and how to see that it works',
  },
  {
    name: 'submit_spec',
    title: 'Submit a specification',
    description: 'Submits the writing of a specification to a team of agents',
    type: 'spec',
    asks: 'what to specify, for whom, which decisions have been made, and which are open',
  },
];

const ARGUMENT = {
  name: 'request',
  description: 'The work to do, in your words',
  required: true,
};

/** Registers the methods of prompts. */
export function servePrompts(server: Server): void {
  server.setRequestHandler('prompts/list', () => ({
    prompts: PROMPTS.map(({ name, title, description }) => ({
      name,
      title,
      description,
      arguments: [ARGUMENT],
    })),
  }));
  server.setRequestHandler('prompts/get', ({ params }) => {
    const prompt = PROMPTS.find(({ name }) => name === params.name);
    if (!prompt) throw invalid(`Unknown prompt: ${params.name}`);
    const request = params.arguments?.['request'] ?? '';
    if (request.trim() === '') throw invalid('The argument `request` is required.');
    if (request.length > MAX_DESCRIPTION_LENGTH) throw invalid('The argument `request` is too long.');
    const text = textOf(prompt, request);
    return { description: prompt.description, messages: [{ role: 'user', content: { type: 'text', text } }] };
  });
}

function invalid(message: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, message);
}

function textOf({ type, asks }: Prompt, request: string): string {
  return `Submit this to Baton with the tool submit_task, as a task of the type ${type}:

${request}

Write a short title. The description must say ${asks}. If something important is missing, ask me first. The agents do not see our conversation, so everything they need must be in the description.

Then wait with wait_for_task. If the task asks a question, ask me, and pass on my answer with continue_task. When the task has ended, tell me the result, and which documents it has (list_artifacts).`;
}
