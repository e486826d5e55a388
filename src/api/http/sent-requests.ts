import { CALLBACK_TIMEOUT_MS, DELIVERY_TIMEOUT_MS } from '../../domain/common/limits.ts';
import { CALLBACK_STATES } from '../../domain/tasks/task-states.ts';
import { eventRef } from '../../domain/webhooks/event-documents.ts';
import { EVENT_KINDS, type EventKind } from '../../domain/webhooks/event-kinds.ts';

type Header = { schema: Record<string, unknown>; description: string; required?: boolean };

const SIGNATURE = { type: 'string', pattern: '^sha256=[0-9a-f]{64}$' };
const TRACE: Record<string, Header> = {
  'User-Agent': { schema: { type: 'string' }, description: '`Baton`', required: true },
  traceparent: {
    schema: { type: 'string' },
    description: 'W3C Trace Context; only if the operator enables tracing. Different in each attempt',
  },
};

/** Returns the `webhooks` of the OpenAPI document: the requests that the service sends (docs/receiving.md, docs/callbacks.md). */
export function sentRequests(): Record<string, unknown> {
  const deliveries = EVENT_KINDS.map((kind) => [kind, { post: deliveryOf(kind) }]);
  return { ...Object.fromEntries(deliveries), 'task.callback': { post: callback() } };
}

function deliveryOf(kind: EventKind) {
  return {
    operationId: `deliver_${kind.replace('.', '_')}`,
    tags: ['sent'],
    summary: `Delivery of ${kind} to a webhook`,
    description:
      'Sent to the URL of each webhook whose subscription and filters match. See docs/receiving.md.',
    security: [],
    parameters: parametersOf({
      ...common(
        { type: 'string', const: kind },
        'Id of the delivery, the same in all attempts',
        'When the event occurred',
      ),
      'X-Service-Signature': {
        schema: SIGNATURE,
        description:
          'HMAC-SHA256 of the raw body. The key is the UTF-8 bytes of the secret. Absent if the webhook has no secret',
      },
      'X-Service-Signature-Previous': {
        schema: SIGNATURE,
        description: 'The same with the previous secret; only during the overlap after a rotation',
      },
      'X-Webhook-Secret': {
        schema: { type: 'string' },
        description: 'The secret itself; only if the webhook has `include_secret_header`',
      },
      'webhook-id': standard({ type: 'string', format: 'uuid' }, 'Id of the delivery'),
      'webhook-timestamp': standard(
        { type: 'string', pattern: '^\\d+$' },
        'Time of the attempt, in seconds since 1970',
      ),
      'webhook-signature': standard(
        { type: 'string' },
        '`v1,` and a signature in base64; several are separated by spaces',
      ),
    }),
    requestBody: bodyOf(eventRef(kind, 'Payload')),
    responses: responses(
      `Retried after 1 min, 5 min, 30 min, 2 h and 12 h, each from the previous failure. Redirects are failures, and so is no complete response within ${DELIVERY_TIMEOUT_MS / 1_000} s`,
    ),
  };
}

function callback() {
  const events = CALLBACK_STATES.map((state) => `task.${state}`);
  return {
    operationId: 'call_back',
    tags: ['sent'],
    summary: 'Result of a task',
    description:
      'Sent to the `callback_url` of a task when its run ends as completed, failed or escalated. See docs/callbacks.md.',
    security: [],
    parameters: parametersOf({
      ...common(
        { type: 'string', enum: events },
        'The `execution_id`, the same in all attempts',
        'When the run ended',
      ),
      'X-Service-Signature': {
        schema: SIGNATURE,
        description: 'HMAC-SHA256 of the raw body. The key is the UTF-8 bytes of the `callback_secret`',
        required: true,
      },
    }),
    requestBody: bodyOf({ $ref: '#/components/schemas/TaskCallback' }),
    responses: responses(
      `Retried 1 s after the first failure and 4 s after the second. Redirects are failures, and so is no complete response within ${CALLBACK_TIMEOUT_MS / 1_000} s`,
    ),
  };
}

function common(event: Record<string, unknown>, delivery: string, timestamp: string): Record<string, Header> {
  return {
    'X-Service-Event': { schema: event, description: 'What happened', required: true },
    'X-Service-Delivery': {
      schema: { type: 'string', format: 'uuid' },
      description: `${delivery}. Use it to detect duplicates`,
      required: true,
    },
    'X-Service-Timestamp': {
      schema: { type: 'string', format: 'date-time' },
      description: timestamp,
      required: true,
    },
    ...TRACE,
  };
}

function standard(schema: Record<string, unknown>, description: string): Header {
  return { schema, description: `${description}. Only if the webhook has \`standard_webhooks\`` };
}

function parametersOf(headers: Record<string, Header>) {
  return Object.entries(headers).map(([name, header]) => ({ name, in: 'header', ...header }));
}

function bodyOf(schema: { $ref: string }) {
  return { required: true, content: { 'application/json': { schema } } };
}

function responses(failure: string) {
  return {
    '2XX': { description: 'Received. The body is stored for the log and has no other effect' },
    401: { description: `The signature does not match. Counts as a failure. ${failure}` },
    default: { description: `A failure. ${failure}` },
  };
}
