import { z } from 'zod';
import { EVENT_KINDS, type EventKind } from '../../src/domain/webhooks/event-kinds.ts';
import { payloadSchema } from '../../src/domain/webhooks/event-schemas.ts';
import { CALLBACK_STATES } from '../../src/domain/tasks/task-states.ts';
import { describedApi, typesOf, writeMade } from './api-types.ts';
import { inCheckout } from '../common/paths.ts';

/** The routes that the client package speaks to, by their tags. */
const TAGS = ['task', 'token', 'event', 'webhook', 'delivery'];
const HEAD = '/* Made from the schemas of the service by dev/types/client-types.ts. Not kept in git. */\n\n';

const GENERATED = inCheckout('clients', 'typescript', 'src', 'generated');

/**
 * Writes the types of the client package from the schemas of the service: requests and responses, and the bodies of
 * callbacks and webhook deliveries.
 */
export async function writeClientTypes(): Promise<void> {
  writeMade(`${GENERATED}/api.ts`, HEAD + (await typesOf(describedApi(TAGS))));
  writeMade(`${GENERATED}/payloads.ts`, HEAD + (await typesOf(payloadDocument())));
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

/** The body of a task result callback (docs/callbacks.md). It may get further fields. */
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

if (import.meta.main) await writeClientTypes();
