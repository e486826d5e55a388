import type { FailureKind } from '../common/failure-kinds.ts';
import type { FeedEvent } from '../tasks/feed-events.ts';

/** The live channel's words (docs/channel.md): rooms, what goes in, what comes out, why something is refused. */

/** The path of the channel, for Socket.IO and for plain WebSockets alike. */
export const CHANNEL_PATH = '/ws';

export const ROOM_KINDS = ['workflow', 'webhook'] as const;
export type RoomKind = (typeof ROOM_KINDS)[number];
export type Room = { kind: RoomKind; id: string };

const ROOM = /^(workflow|webhook):([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

/** The parts of a room's name; null where it is none. */
export function parseRoom(name: string): Room | null {
  const [, kind, id] = ROOM.exec(name) ?? [];
  return kind === undefined || id === undefined ? null : { kind: kind as RoomKind, id };
}

/** The name of a webhook's room. */
export function webhookRoomOf(webhookId: string): string {
  return `webhook:${webhookId}`;
}

/** Why a message was refused, or a connection was refused or ended. Stable; clients decide by them. */
export const CHANNEL_CODES = {
  token_invalid: 'The token is missing or invalid, or its key or user no longer exists.',
  token_expired: 'The token has expired. Get a new one.',
  forbidden: 'The room does not exist, or the token has no access to it.',
  invalid_room: 'The room must be workflow:<uuid> or webhook:<uuid>.',
  invalid_message: 'The message is not valid JSON, has an unknown type, or lacks a required field.',
  too_many_rooms: 'The connection has reached its limit of rooms.',
  rate_limited: 'Too many messages. Slow down.',
  too_many_connections: 'The token or the process has reached its limit of connections.',
  slow_reader: 'The client reads too slowly. Connect again and join with `after`.',
  unavailable: 'A required service is unavailable. Try again.',
  server_stopping: 'This process is shutting down. Connect again.',
} as const;
export type ChannelCode = keyof typeof CHANNEL_CODES;

/** A delivery has changed: as it is in a list now. */
export type DeliveryEvent = {
  type: 'delivery.changed';
  webhook_id: string;
  delivery: Record<string, unknown>;
};

/**
 * A webhook was changed, disabled, enabled, recovered or deleted (null), or much of it changed at once: as it is now.
 * Deliveries beyond the newest may have changed with it.
 */
export type WebhookChanged = {
  type: 'webhook.changed';
  webhook_id: string;
  webhook: Record<string, unknown> | null;
};

/** What a client is sent without having asked, by its name. */
export type Pushed = {
  /** What happened in a room. */
  event: FeedEvent | DeliveryEvent | WebhookChanged;
  /** A delivery for a listener to post and answer. */
  request: RelayRequest;
  /** No more requests of this webhook are sent over this connection. */
  listening_ended: ListeningEnded;
  /** The last words before the connection ends. */
  closed: { code: ChannelCode; message: string };
};

/** A delivery's request on its way to a listener; `body` is base64 of the bytes that are signed. */
export type RelayRequest = {
  id: string;
  webhook_id: string;
  delivery_id: string;
  event: string;
  method: 'POST';
  headers: Record<string, string>;
  body: string;
};

/** What may go wrong between a listener and its machine. */
export const RELAY_FAILURES = [
  'lookup_failed',
  'connection_failed',
  'tls_failed',
  'timeout',
  'connection_closed',
  'invalid_response',
] as const satisfies readonly FailureKind[];

/** What a listener's machine answered; `body` is base64. `failure` where there was no answer. */
export type RelayAnswer =
  | {
      status: number;
      headers: Record<string, string>;
      body: string;
      /** The body went on behind what is here. */
      truncated: boolean;
      duration_ms: number;
    }
  | { failure: (typeof RELAY_FAILURES)[number]; message: string };

/** `replaced`: another connection listens now; `gone`: the webhook was deleted, or is not this token's any more. */
export const LISTENING_ENDS = ['replaced', 'gone'] as const;
export type ListeningEnded = { webhook_id: string; reason: (typeof LISTENING_ENDS)[number] };

/** What a gateway tells of itself at `/health/channel`. */
export type ChannelNumbers = {
  connections: number;
  /** Rooms that somebody is in, by kind. */
  rooms: Record<RoomKind, number>;
  /** Events sent since startup, counted once per client, and in a second of the last ten. */
  events_sent: number;
  events_per_second: number;
  /** From the write of an event to its hand-over, over the last 2,048 readings; null before the first. */
  lag_ms: { p50: number | null; p95: number | null; max: number | null };
  /** Connections that were refused or ended by us, by reason. */
  dropped: Partial<Record<ChannelCode, number>>;
};
