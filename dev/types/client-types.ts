import { z } from 'zod';
import { callbackSchema } from '../../src/domain/tasks/callback-schema.ts';
import { eventTypeName } from '../../src/domain/webhooks/event-documents.ts';
import { EVENT_KINDS } from '../../src/domain/webhooks/event-kinds.ts';
import { payloadSchema } from '../../src/domain/webhooks/event-schemas.ts';
import { describedApi, typesOf, writeGenerated } from './api-types.ts';
import { inCheckout } from '../common/paths.ts';

/** The tags of the routes that the client packages use. */
export const CLIENT_TAGS = ['task', 'token', 'event', 'webhook', 'delivery'];
const HEAD = '/* Generated from the schemas of the service by dev/types/client-types.ts. Not in git. */\n\n';

const GENERATED = inCheckout('clients', 'typescript', 'src', 'generated');

/**
 * Generates the types of the client package from the schemas of the service: requests, responses, and the bodies of
 * callbacks and webhook deliveries.
 */
export async function writeClientTypes(): Promise<void> {
  writeGenerated(`${GENERATED}/api.ts`, HEAD + (await typesOf(describedApi(CLIENT_TAGS))));
  writeGenerated(`${GENERATED}/payloads.ts`, HEAD + (await typesOf(payloadDocument())));
}

/**
 * Returns the schemas of the signed bodies as a document without paths. The payload of `issue.created` is
 * `IssueCreated`.
 */
function payloadDocument() {
  const kinds = EVENT_KINDS.map((kind) => [eventTypeName(kind), payloadSchema(kind)] as const);
  return {
    openapi: '3.1.0',
    info: { title: 'Signed bodies', version: '1' },
    paths: {},
    components: { schemas: { ...Object.fromEntries(kinds), Callback: z.toJSONSchema(callbackSchema) } },
  };
}

if (import.meta.main) await writeClientTypes();
