import { CHANNEL_PATH } from '../../src/domain/channel/channel.ts';
import { MAX_BODY_BYTES, MAX_EVENTS_PER_REQUEST, MAX_WAIT_SECONDS } from '../../src/domain/common/limits.ts';
import { PROBLEMS } from '../../src/domain/common/problem-codes.ts';
import { CALLBACK_STATES, TASK_STATES, TERMINAL_STATES } from '../../src/domain/tasks/task-states.ts';
import { EVENT_KINDS } from '../../src/domain/webhooks/event-kinds.ts';

const HEAD =
  '/* Generated from the constants of the service by dev/docs/main.ts: states, codes and limits. */\n\n';

/** Returns a module with the constants of the service that the client package needs at run time. */
export function clientVocabulary(): string {
  const constants = {
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
  const lines = Object.entries(constants).map(
    ([name, value]) => `export const ${name} = ${JSON.stringify(value)} as const;\n`,
  );
  return HEAD + lines.join('');
}
