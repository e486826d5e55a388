import type { z } from 'zod';
import * as answers from '../../domain/channel/channel-answers.ts';
import { joinMessage, leaveMessage, renewMessage } from '../../domain/channel/channel-schemas.ts';
import { FEED_SCHEMAS } from '../../domain/tasks/feed-schemas.ts';
import * as limits from '../../domain/common/limits.ts';
import {
  answerMessage,
  listeningEnded,
  listenMessage,
  relayRequest,
} from '../../domain/channel/listening-schemas.ts';

/** The messages of the live channel, in the order of the document. */

/** Messages of clients, with the type of the reply to a valid one. */
export const CLIENT_MESSAGES = {
  join: { schema: joinMessage, replyType: 'joined' },
  leave: { schema: leaveMessage, replyType: 'left' },
  renew: { schema: renewMessage, replyType: 'renewed' },
  listen: { schema: listenMessage, replyType: 'listening' },
  answer: { schema: answerMessage, replyType: 'answered' },
} as const satisfies Record<string, { schema: z.ZodType; replyType: string }>;

/** Replies by their plain `type`. A Socket.IO client gets them as acknowledgements. */
export const REPLIES = {
  joined: answers.joinedAnswer,
  left: answers.leftAnswer,
  renewed: answers.renewedAnswer,
  listening: answers.listeningAnswer,
  answered: answers.answeredAnswer,
  refused: answers.refusedAnswer,
} as const satisfies Record<string, z.ZodType>;

/** Unsolicited messages other than room events. */
export const PUSHED = {
  request: relayRequest,
  listening_ended: listeningEnded,
  closed: answers.closedMessage,
} as const satisfies Record<string, z.ZodType>;

/** The events of each kind of room, by their `type`. */
export const ROOM_EVENTS = {
  workflow: FEED_SCHEMAS,
  webhook: {
    'delivery.changed': answers.deliveryChanged,
    'webhook.changed': answers.webhookChanged,
  },
} as const;

const seconds = (ms: number) => `${ms / 1_000} s`;
const kibibytes = (bytes: number) => `${bytes / 1_024} KiB`;
const { CHANNEL_MESSAGES, PROGRESS_EVENTS } = limits;

/** All limits of the channel, as text. */
export const CHANNEL_LIMITS: Readonly<Record<string, string>> = {
  'Rooms per connection': String(limits.MAX_ROOMS),
  'Size of a client message': kibibytes(limits.MAX_CHANNEL_MESSAGE_BYTES),
  'Messages per connection': `${CHANNEL_MESSAGES.perSecond} per second, burst of ${CHANNEL_MESSAGES.burst}`,
  'Messages that wait for the previous ones': String(limits.MAX_WAITING_MESSAGES),
  "Socket.IO's requests to connect or to upgrade": String(limits.MAX_CHANNEL_CONNECTS),
  'Length of a room name': `${limits.MAX_ROOM_LENGTH} characters`,
  'Length of a token': `${limits.MAX_TOKEN_LENGTH} characters`,
  'Length of the `id` of a plain message': `${limits.MAX_MESSAGE_ID_LENGTH} characters`,
  Connections: `${limits.MAX_CONNECTIONS_PER_TOKEN} per token, ${limits.MAX_CONNECTIONS} per process (configurable), of which ${limits.MAX_CONNECTIONS_OF_OWNER_PERCENT}% for all tokens of a key or person`,
  'Buffer of a slow client': `${kibibytes(limits.CHANNEL_PENDING_BYTES)}; the service reads no more events for the client until it has received these`,
  'A client that does not read its full buffer': `disconnected after ${seconds(limits.CHANNEL_STALL_MS)}`,
  'Progress of a step attempt': `burst of ${PROGRESS_EVENTS.burst} events, then ${PROGRESS_EVENTS.perSecond} per second; further reports are merged before they get a \`seq\``,
  'Deliveries in the snapshot of a webhook room': String(limits.ROOM_DELIVERIES),
  'Webhooks that a connection can listen to': String(limits.MAX_LISTENED),
};
