import { z } from 'zod';
import { CHANNEL_CODES, CHANNEL_PATH } from '../../src/domain/channel/channel.ts';
import { EVENT_KINDS, type EventKind } from '../../src/domain/webhooks/event-kinds.ts';
import { payloadSchema } from '../../src/domain/webhooks/event-schemas.ts';
import { MAX_BODY_BYTES, MAX_EVENTS_PER_REQUEST, MAX_WAIT_SECONDS } from '../../src/domain/common/limits.ts';
import { PROBLEMS } from '../../src/domain/common/problem-codes.ts';
import { CALLBACK_STATES, TASK_STATES, TERMINAL_STATES } from '../../src/domain/tasks/task-states.ts';
import { describedApi, typesOf, writeMade } from './api-types.ts';
import { inCheckout } from '../common/paths.ts';

/** The routes that the client package speaks to, by their tags. */
const TAGS = ['task', 'token', 'event', 'webhook', 'delivery'];
const HEAD = '/* Made from the schemas of the service by dev/types/client-types.ts. Not kept in git. */\n\n';

const GENERATED = inCheckout('clients', 'typescript', 'src', 'generated');

/**
 * Writes what the client package knows of the service, from the service's own schemas and words: the shapes of requests
 * and answers, the bodies of callbacks and webhook deliveries, states, codes and limits.
 */
export async function writeClientTypes(): Promise<void> {
  writeMade(`${GENERATED}/api.ts`, HEAD + (await typesOf(describedApi(TAGS))));
  writeMade(`${GENERATED}/payloads.ts`, HEAD + (await typesOf(payloadDocument())));
  writeMade(`${GENERATED}/vocabulary.ts`, HEAD + vocabulary());
}

/** The signed bodies as schemas of a document without paths; the payload of `issue.created` is `IssueCreated`. */
function payloadDocument() {
  const kinds = EVENT_KINDS.map((kind) => [nameOf(kind), payloadSchema(kind)] as const);
  return {
    openapi: '3.1.0',
    info: { title: 'Signed bodies', version: '1' },
    paths: {},
    components: { schemas: { ...Object.fromEntries(kinds), Callback: z.toJSONSchema(callback) } },
  };
}

/** The body of a task result callback (docs/callbacks.md). More members may come, so it is a loose one. */
const callback = z.looseObject({
  execution_id: z.string(),
  status: z.enum(CALLBACK_STATES),
  duration_ms: z.int(),
  started_at: z.iso.datetime(),
  completed_at: z.iso.datetime(),
  output: z.looseObject({}).describe('Empty where the run ended before it had a plan'),
  errors: z.array(
    z.looseObject({
      code: z.string(),
      message: z.string(),
      step: z.string().nullable(),
      agent: z.string().nullable(),
      at: z.iso.datetime(),
    }),
  ),
});

/** `issue.created` → `IssueCreated`. */
function nameOf(kind: EventKind): string {
  return kind
    .split('.')
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
    .join('');
}

function vocabulary(): string {
  const constants = {
    TASK_STATES,
    TERMINAL_STATES,
    CALLBACK_STATES,
    EVENT_KINDS,
    PROBLEM_CODES: Object.keys(PROBLEMS),
    CHANNEL_CODES: Object.keys(CHANNEL_CODES),
    CHANNEL_PATH,
    MAX_EVENTS_PER_REQUEST,
    MAX_WAIT_SECONDS,
    MAX_BODY_BYTES,
  };
  const lines = Object.entries(constants).map(
    ([name, value]) => `export const ${name} = ${JSON.stringify(value)} as const;\n`,
  );
  return lines.join('');
}

if (import.meta.main) await writeClientTypes();
