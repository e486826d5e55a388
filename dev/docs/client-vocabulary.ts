import { CHANNEL_PATH } from '../../src/domain/channel/channel.ts';
import { MAX_BODY_BYTES, MAX_EVENTS_PER_REQUEST, MAX_WAIT_SECONDS } from '../../src/domain/common/limits.ts';
import { PROBLEMS } from '../../src/domain/common/problem-codes.ts';
import { CALLBACK_STATES, TASK_STATES, TERMINAL_STATES } from '../../src/domain/tasks/task-states.ts';
import { EVENT_KINDS } from '../../src/domain/webhooks/event-kinds.ts';

const HEAD =
  '/* Generated from the constants of the service by dev/docs/main.ts: states, codes and limits. */\n\n';

const CONSTANTS = {
  TASK_STATES,
  TERMINAL_STATES,
  CALLBACK_STATES,
  EVENT_KINDS,
  PROBLEM_CODES: Object.keys(PROBLEMS),
  CHANNEL_PATH,
  MAX_EVENTS_PER_REQUEST,
  MAX_WAIT_SECONDS,
  MAX_BODY_BYTES,
};

/** Returns a module with the constants of the service that the client package for TypeScript needs at run time. */
export function clientVocabulary(): string {
  const lines = Object.entries(CONSTANTS).map(
    ([name, value]) => `export const ${name} = ${JSON.stringify(value)} as const;\n`,
  );
  return HEAD + lines.join('');
}

const PYTHON_HEAD = `# Generated from the constants of the service by dev/docs/main.ts: states, codes and limits.

from typing import Literal
`;

/** Returns the same module for Python. A tuple of texts also becomes a type: `TaskState` for `TASK_STATES`. */
export function pythonVocabulary(): string {
  const { CHANNEL_PATH: _, ...used } = CONSTANTS;
  const blocks = Object.entries(used).map(([name, value]) =>
    typeof value === 'number' ? `${name} = ${value}\n` : tupleOf(name, value),
  );
  return [PYTHON_HEAD, ...blocks].join('\n');
}

function tupleOf(name: string, values: readonly string[]): string {
  const type = name
    .replace(/S$/, '')
    .toLowerCase()
    .replaceAll(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase());
  const lines = values.map((value) => `    ${JSON.stringify(value)},\n`).join('');
  return `${type} = Literal[\n${lines}]\n${name}: tuple[${type}, ...] = (\n${lines})\n`;
}
