import { z } from 'zod';
import { LISTENING_ENDS, RELAY_FAILURES } from './channel.ts';
import {
  DELIVERY_RESPONSE_BYTES,
  MAX_RELAYED_HEADER_LENGTH,
  MAX_RELAYED_HEADERS,
  MAX_RELAYED_MESSAGE_LENGTH,
} from '../common/limits.ts';
import { uuidOut } from '../common/schema-parts.ts';
import { isStorableText, UUID } from '../common/text.ts';

/** Messages between a listener and the live channel: deliveries to the listener, and its answers. */

const uuid = z.string().regex(UUID, 'must be a UUID in lower case').meta({ format: 'uuid' });

const requestId = uuid.describe('`id` of the request');
const EXAMPLE = {
  webhook: '019a2b3c-0000-7000-8000-000000000001',
  request: '019a2b3c-0000-7000-8000-000000000002',
  delivery: '019a2b3c-0000-7000-8000-000000000003',
};

/** `listen`: receive the deliveries of a webhook over this connection. */
export const listenMessage = z.strictObject({ webhook_id: uuid }).meta({
  id: 'Listen',
  description:
    'Receive the deliveries of a webhook created with `POST /api/v1/listeners` over this connection. Only the newest listener receives them',
  examples: [{ webhook_id: EXAMPLE.webhook }],
});

const headers = z
  .record(
    z.string().regex(/^[!#$%&'*+.^_`|~0-9a-z-]{1,256}$/, 'must be the name of a header, in lower case'),
    // A value is bytes, each of which is one character here (RFC 9110, 5.5).
    z
      .string()
      .max(MAX_RELAYED_HEADER_LENGTH)
      .regex(/^[\t\x20-\x7e\x80-\xff]*$/, 'must not contain characters that are invalid in a header'),
  )
  .refine(
    (given) => Object.keys(given).length <= MAX_RELAYED_HEADERS,
    `must have at most ${MAX_RELAYED_HEADERS} headers`,
  );

/** Four characters encode three bytes, the last of which may be padding. */
const base64Body = z
  .base64()
  .refine(
    (text) => (text.length / 4) * 3 - (/=*$/.exec(text)?.[0].length ?? 0) <= DELIVERY_RESPONSE_BYTES,
    `must decode to at most ${DELIVERY_RESPONSE_BYTES} bytes; cut it and set \`truncated\``,
  )
  .describe('The body in base64');

const answered = z.strictObject({
  request_id: requestId,
  status: z.int().min(200).max(599),
  headers: headers.default({}),
  body: base64Body.default(''),
  truncated: z.boolean().default(false).describe('Whether the body was truncated'),
  duration_ms: z.number().min(0).max(3_600_000).describe('Response time of the local endpoint'),
});

const failed = z.strictObject({
  request_id: requestId,
  failure: z.enum(RELAY_FAILURES).describe('Why there is no response'),
  message: z
    .string()
    .max(MAX_RELAYED_MESSAGE_LENGTH)
    .refine((text) => isStorableText(text) && !/\p{Cc}/u.test(text), 'must not contain control characters')
    .describe('Description of the failure for the delivery log'),
});

/** `answer`: the response to a request, or its failure. */
export const answerMessage = z.union([answered, failed]).meta({
  id: 'RelayAnswer',
  description: 'The response to a request, or the failure',
  examples: [
    {
      request_id: EXAMPLE.request,
      status: 200,
      headers: { 'content-type': 'text/plain' },
      body: 'b2s=',
      duration_ms: 12,
    },
    {
      request_id: EXAMPLE.request,
      failure: 'connection_failed',
      message: 'Connection refused',
    },
  ],
});

/** Parses an answer with the schema of the form that it seems to have, so that the errors fit. */
export function readAnswer(body: Record<string, unknown>) {
  return 'failure' in body ? failed.safeParse(body) : answered.safeParse(body);
}

/** `request`: a delivery for a listener. */
export const relayRequest = z
  .strictObject({
    id: uuidOut.describe(
      'Id for the `answer`. Sent again with the same id if the connection was lost before the answer',
    ),
    webhook_id: uuidOut,
    delivery_id: uuidOut.describe('Same as `X-Service-Delivery`'),
    event: z.string(),
    method: z.literal('POST'),
    headers: z.record(z.string(), z.string()).describe('Headers as sent to a receiver, with the signature'),
    body: z.string().describe('The signed bytes in base64'),
  })
  .meta({
    id: 'RelayRequest',
    description: 'A delivery that the listener posts to its local endpoint',
    examples: [
      {
        id: EXAMPLE.request,
        webhook_id: EXAMPLE.webhook,
        delivery_id: EXAMPLE.delivery,
        event: 'issue.created',
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'x-service-event': 'issue.created',
          'x-service-delivery': EXAMPLE.delivery,
          'x-service-timestamp': '2026-01-31T12:00:00.000Z',
          'x-service-signature': `sha256=${'0'.repeat(64)}`,
        },
        body: 'e30=',
      },
    ],
  });

/** `listening_ended`: the connection gets no more requests of a webhook. */
export const listeningEnded = z
  .strictObject({
    webhook_id: uuidOut,
    reason: z
      .enum(LISTENING_ENDS)
      .describe('`replaced`: another connection listens now; `gone`: deleted or no longer accessible'),
  })
  .meta({
    id: 'ListeningEnded',
    description: 'No more requests of this webhook are sent over this connection',
    examples: [{ webhook_id: EXAMPLE.webhook, reason: 'replaced' }],
  });
