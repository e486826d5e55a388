import type { ToolDescription } from './agent-work.ts';
import { MAX_QUESTION_LENGTH, MAX_REASON_LENGTH } from '../common/limits.ts';

/** The built-in tools. The workflow of a step runs them, never a server. */
export const OWN_TOOLS = [
  'report_progress',
  'escalate_to_human',
  'ask_for_approval',
  'save_artifact',
] as const;
export type OwnToolName = (typeof OWN_TOOLS)[number];

/** Tools of an agent whose settings list no tools. */
export const DEFAULT_TOOLS: readonly OwnToolName[] = [...OWN_TOOLS];

const text = ({ description, maxLength }: { description: string; maxLength: number }) => ({
  type: 'string',
  minLength: 1,
  maxLength,
  description,
});

/** Descriptions of the built-in tools for the model. */
const DESCRIPTIONS: Readonly<Record<OwnToolName, Pick<ToolDescription, 'description' | 'input_schema'>>> = {
  report_progress: {
    description: 'Report progress to the people who watch. Changes nothing else.',
    input_schema: objectOf(
      {
        text: text({ description: 'What has been done, in one sentence', maxLength: 1_000 }),
        percent: {
          type: 'number',
          minimum: 0,
          maximum: 100,
          description: 'Completed part of the step, in percent',
        },
      },
      ['text'],
    ),
  },
  escalate_to_human: {
    description:
      'End the work and hand it to a person, with everything done so far. Use it for decisions that you cannot or must not make yourself.',
    input_schema: objectOf(
      { reason: text({ description: 'What the person must know or decide', maxLength: MAX_REASON_LENGTH }) },
      ['reason'],
    ),
  },
  ask_for_approval: {
    description:
      'Pause the work until a person approves what you are about to do. Ask before anything that cannot be undone.',
    input_schema: objectOf(
      {
        question: text({
          description: 'What you want to do, with enough detail to decide',
          maxLength: MAX_QUESTION_LENGTH,
        }),
      },
      ['question'],
    ),
  },
  save_artifact: {
    description: 'Save a document as a result of the work, for people to download.',
    input_schema: objectOf(
      {
        name: text({ description: 'A file name', maxLength: 200 }),
        media_type: text({ description: 'For example text/markdown', maxLength: 100 }),
        content: { type: 'string', description: 'The whole document' },
        encoding: {
          type: 'string',
          enum: ['text', 'base64'],
          description: 'Encoding of content; default: text',
        },
      },
      ['name', 'media_type', 'content'],
    ),
  },
};

/** Returns the description of a built-in tool for the model. */
export function ownTool(name: OwnToolName): ToolDescription {
  return { name, server: null, tool: name, ...DESCRIPTIONS[name] };
}

/** Returns the built-in tools of an allow-list; null: {@link DEFAULT_TOOLS}. */
export function ownToolsOf(tools: readonly string[] | null): OwnToolName[] {
  const named = tools ?? DEFAULT_TOOLS;
  return OWN_TOOLS.filter((name) => named.includes(name));
}

export function isOwnTool(name: string): name is OwnToolName {
  return (OWN_TOOLS as readonly string[]).includes(name);
}

function objectOf(properties: Record<string, unknown>, required: string[]): Record<string, unknown> {
  return { type: 'object', properties, required, additionalProperties: false };
}
