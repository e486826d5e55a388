import { z } from 'zod';
import { LISTENING_ENDS, RELAY_FAILURES } from './channel.ts';
import {
  DELIVERY_RESPONSE_BYTES,
  MAX_RELAYED_HEADER_LENGTH,
  MAX_RELAYED_HEADERS,
  MAX_RELAYED_MESSAGE_LENGTH,
} from '../common/limits.ts';
import { uuidOut } from '../common/schema-parts.ts';
import { isStorableText } from '../common/text.ts';

/** What a listener and the live channel say to each other: deliveries that go out, answers that come back. */

const uuid = z
  .string()
  .regex(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, 'must be a UUID in lower case')
  .meta({ format: 'uuid' });

const requestId = uuid.describe('`id` of the request');
const EXAMPLE = {
  webhook: '019a2b3c-0000-7000-8000-000000000001',
  request: '019a2b3c-0000-7000-8000-000000000002',
  delivery: '019a2b3c-0000-7000-8000-000000000003',
};

/** `listen`: have the deliveries of a webhook sent over this connection. */
export const listenMessage = z.strictObject({ webhook_id: uuid }).meta({
  id: 'Listen',
  description:
    'Have the deliveries of a webhook, made with `POST /api/v1/listeners`, sent over this connection; the newest listener gets them',
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
    `must have at most ${MAX_RELAYED_HEADERS} members`,
  );

/** Four characters stand for three bytes, the last of which may be padding. */
const base64Body = z
  .base64()
  .refine(
    (text) => (text.length / 4) * 3 - (/=*$/.exec(text)?.[0].length ?? 0) <= DELIVERY_RESPONSE_BYTES,
    `must decode to at most ${DELIVERY_RESPONSE_BYTES} bytes; cut it and set \`truncated\``,
  )
  .describe('The bytes of the body in base64');

const answered = z.strictObject({
  request_id: requestId,
  status: z.int().min(200).max(599),
  headers: headers.default({}),
  body: base64Body.default(''),
  truncated: z.boolean().default(false).describe('Whether the body went on behind what is here'),
  duration_ms: z.number().min(0).max(3_600_000).describe('How long the machine took'),
});

const failed = z.strictObject({
  request_id: requestId,
  failure: z.enum(RELAY_FAILURES).describe('Why there is no answer'),
  message: z
    .string()
    .max(MAX_RELAYED_MESSAGE_LENGTH)
    .refine((text) => isStorableText(text) && !/\p{Cc}/u.test(text), 'must not contain control characters')
    .describe('The same in one sentence, for the delivery log'),
});

/** `answer`: what came of a request. */
export const answerMessage = z.union([answered, failed]).meta({
  id: 'RelayAnswer',
  description: 'What a request was answered with, or why it was not',
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
      message: 'Nothing listens at the address',
    },
  ],
});

/** Reads an answer by the form that it seems to have, so that what is said of a wrong one fits. */
export function readAnswer(body: Record<string, unknown>) {
  return 'failure' in body ? failed.safeParse(body) : answered.safeParse(body);
}

/** `request`: a delivery for a listener. */
export const relayRequest = z
  .strictObject({
    id: uuidOut.describe(
      'To be named in the `answer`; the same again where the connection was lost before it',
    ),
    webhook_id: uuidOut,
    delivery_id: uuidOut.describe('As in `X-Service-Delivery`'),
    event: z.string(),
    method: z.literal('POST'),
    headers: z.record(z.string(), z.string()).describe('As a receiver gets them, with the signature'),
    body: z.string().describe('The signed bytes in base64'),
  })
  .meta({
    id: 'RelayRequest',
    description: 'A delivery for a listener to post to its machine',
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

/** `listening_ended`: no more requests of a webhook come. */
export const listeningEnded = z
  .strictObject({
    webhook_id: uuidOut,
    reason: z
      .enum(LISTENING_ENDS)
      .describe('`replaced`: another connection listens now; `gone`: deleted, or not yours any more'),
  })
  .meta({
    id: 'ListeningEnded',
    description: 'No more requests of this webhook come over this connection',
    examples: [{ webhook_id: EXAMPLE.webhook, reason: 'replaced' }],
  });
