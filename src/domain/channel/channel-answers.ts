import { z } from 'zod';
import { CHANNEL_CODES, type ChannelCode } from './channel.ts';
import { listedDelivery } from '../webhooks/delivery-view.ts';
import { ROOM_DELIVERIES } from '../common/limits.ts';
import { workflowSnapshot } from '../tasks/run-schemas.ts';
import { initialView } from '../tasks/task-run.ts';
import { timestamp, uuidOut } from '../common/schema-parts.ts';
import { webhookView } from '../webhooks/webhook-view.ts';

/*
 * Messages of the live channel other than the events of runs. A Socket.IO client gets an answer as the acknowledgement
 * of its message, with `ok` in addition to these fields. A plain client gets it as a message, with `type` and the `id` of its
 * own message.
 */

const RUN = '0199c2a4-5b7e-7a31-9a54-3f0c8b1d2e6f';
const WEBHOOK = '019a2b3c-0000-7000-8000-000000000001';
const REQUEST = '019a2b3c-0000-7000-8000-000000000002';
const AT = '2026-01-31T12:00:00.000Z';

const code = z.enum(Object.keys(CHANNEL_CODES) as [ChannelCode, ...ChannelCode[]]);

export const webhookSnapshot = z
  .strictObject({
    webhook: webhookView,
    deliveries: z.array(listedDelivery).describe(`The newest ${ROOM_DELIVERIES} deliveries, as in a list`),
  })
  .meta({ id: 'WebhookSnapshot', description: 'Current state of a webhook' });

export const joinedAnswer = z
  .strictObject({
    room: z.string(),
    snapshot: z.union([workflowSnapshot, webhookSnapshot]).describe('Current state of the room'),
    last_seq: z.int().describe('`seq` of the last event in the snapshot; 0 in rooms without `seq`'),
  })
  .meta({
    id: 'Joined',
    description: 'The client joined the room and receives its events from now on',
    examples: [
      {
        room: `workflow:${RUN}`,
        snapshot: {
          execution_id: RUN,
          ...initialView(),
          state: 'planning',
          started_at: AT,
          last_seq: 1,
        },
        last_seq: 1,
      },
    ],
  });

export const leftAnswer = z.strictObject({ room: z.string() }).meta({
  id: 'Left',
  description: 'The client is no longer in the room',
  examples: [{ room: `workflow:${RUN}` }],
});

export const renewedAnswer = z
  .strictObject({ expires_at: timestamp.describe('When the connection ends unless renewed again') })
  .meta({ id: 'Renewed', description: 'The new token is in use', examples: [{ expires_at: AT }] });

export const listeningAnswer = z.strictObject({ webhook_id: uuidOut }).meta({
  id: 'Listening',
  description: 'Deliveries of the webhook are sent over this connection',
  examples: [{ webhook_id: WEBHOOK }],
});

export const answeredAnswer = z
  .strictObject({
    request_id: uuidOut,
    in_time: z.boolean().describe('Whether the delivery was still waiting for the answer'),
  })
  .meta({
    id: 'Answered',
    description: 'The answer was accepted',
    examples: [{ request_id: REQUEST, in_time: true }],
  });

export const refusedAnswer = z
  .strictObject({
    code,
    message: z.string().describe('Description of the code'),
    room: z.string().nullable().describe('Room of the message, if any'),
  })
  .meta({
    id: 'Refused',
    description: 'The message had no effect',
    examples: [{ code: 'forbidden', message: CHANNEL_CODES.forbidden, room: `workflow:${RUN}` }],
  });

/** The last message on a connection. */
export const closedMessage = z.strictObject({ code, message: z.string() }).meta({
  id: 'Closed',
  description: 'Last message before the service closes the connection',
  examples: [{ code: 'token_expired', message: CHANNEL_CODES.token_expired }],
});

export const deliveryChanged = z
  .strictObject({ type: z.literal('delivery.changed'), webhook_id: uuidOut, delivery: listedDelivery })
  .meta({
    id: 'DeliveryChanged',
    description:
      'A delivery was created or changed; contains its current state. Intermediate states may be omitted',
    examples: [
      {
        type: 'delivery.changed',
        webhook_id: WEBHOOK,
        delivery: {
          id: '019a2b3c-0000-7000-8000-000000000003',
          webhook_id: WEBHOOK,
          event_id: 'evt_1',
          event: 'issue.created',
          status: 'succeeded',
          test: false,
          response_status: 204,
          failure: null,
          response_ms: 31,
          attempts_count: 1,
          next_attempt_at: null,
          scheduled_at: null,
          reason: null,
          created_at: AT,
          about: 'iss_481 SHOP-142 The cart forgets its coupon',
        },
      },
    ],
  });

export const webhookChanged = z
  .strictObject({
    type: z.literal('webhook.changed'),
    webhook_id: uuidOut,
    webhook: webhookView.nullable().describe('Current state; null if deleted'),
  })
  .meta({
    id: 'WebhookChanged',
    description:
      'The webhook was changed, disabled, enabled, recovered or deleted, or many of its deliveries changed at once. Its newest deliveries follow. Read the list again for older ones',
    examples: [{ type: 'webhook.changed', webhook_id: WEBHOOK, webhook: null }],
  });
