import type { FailureKind } from '../common/failure-kinds.ts';
import type { Scope } from '../people/access.ts';
import type { FeedEvent } from '../tasks/feed-events.ts';

/** Vocabulary of the live channel (docs/channel.md): rooms, messages, problem codes. */

/** Path of the channel, for Socket.IO and for plain WebSockets. */
export const CHANNEL_PATH = '/ws';

export const ROOM_KINDS = ['workflow', 'webhook'] as const;
export type RoomKind = (typeof ROOM_KINDS)[number];
/** The scope that a room requires. */
export const ROOM_SCOPES = {
  workflow: 'tasks:read',
  webhook: 'webhooks:read',
} as const satisfies Record<RoomKind, Scope>;
export type Room = { kind: RoomKind; id: string };

const ROOM = /^(workflow|webhook):([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

/** Returns the parts of a room name; null if it is not one. */
export function parseRoom(name: string): Room | null {
  const [, kind, id] = ROOM.exec(name) ?? [];
  return kind === undefined || id === undefined ? null : { kind: kind as RoomKind, id };
}

/** Returns the name of a webhook's room. */
export function webhookRoomOf(webhookId: string): string {
  return `webhook:${webhookId}`;
}

/**
 * Why a message was refused, or a connection was refused or closed. The codes are stable, and clients depend on them.
 */
export const CHANNEL_CODES = {
  token_invalid: 'The token is missing or invalid, or its key or user no longer exists.',
  token_expired: 'The token has expired. Get a new one.',
  forbidden: 'The room does not exist, or the token has no access to it.',
  invalid_room: 'The room must be workflow:<uuid> or webhook:<uuid>.',
  invalid_message: 'The message is not valid JSON, has an unknown type, or lacks a required field.',
  too_many_rooms: 'The connection has reached its limit of rooms.',
  rate_limited: 'Too many messages. Slow down.',
  too_many_connections: 'The token, its owner or the process has reached its limit of connections.',
  too_many_handshakes:
    'Too many connections of this address or process have not authenticated yet. Try again in some seconds.',
  slow_reader: 'The client reads too slowly. Connect again and join with `after`.',
  unavailable: 'A required service is unavailable. Try again.',
  server_stopping: 'This process is shutting down. Connect again.',
} as const;
export type ChannelCode = keyof typeof CHANNEL_CODES;

/** A delivery changed. Contains it as a list shows it now. */
export type DeliveryEvent = {
  type: 'delivery.changed';
  webhook_id: string;
  delivery: Record<string, unknown>;
};

/**
 * A webhook was changed, disabled, enabled, recovered or deleted (null), or many of its deliveries changed at once.
 * Contains its current state. Deliveries beyond the newest may have changed too.
 */
export type WebhookChanged = {
  type: 'webhook.changed';
  webhook_id: string;
  webhook: Record<string, unknown> | null;
};

/** Messages that a client receives without a request, by name. */
export type PushedMessages = {
  /** An event in a room. */
  event: FeedEvent | DeliveryEvent | WebhookChanged;
  /** A delivery for a listener to post and answer. */
  request: RelayRequest;
  /** No more requests of this webhook are sent over this connection. */
  listening_ended: ListeningEnded;
  /** The last message before the connection closes. */
  closed: { code: ChannelCode; message: string };
};

/** A delivery's request for a listener. `body` is base64 of the signed bytes. */
export type RelayRequest = {
  id: string;
  webhook_id: string;
  delivery_id: string;
  event: string;
  method: 'POST';
  headers: Record<string, string>;
  body: string;
};

/** Failures between a listener and its local endpoint. */
export const RELAY_FAILURES = [
  'lookup_failed',
  'connection_failed',
  'tls_failed',
  'timeout',
  'connection_closed',
  'invalid_response',
] as const satisfies readonly FailureKind[];

/** The response of a listener's local endpoint; `body` is base64. `failure` if there was no response. */
export type RelayAnswer =
  | {
      status: number;
      headers: Record<string, string>;
      body: string;
      /** Whether the body was cut. */
      truncated: boolean;
      duration_ms: number;
    }
  | { failure: (typeof RELAY_FAILURES)[number]; message: string };

/**
 * `replaced`: another connection listens now. `gone`: the webhook was deleted, or the token has no access to it any
 * more.
 */
export const LISTENING_ENDS = ['replaced', 'gone'] as const;
export type ListeningEnded = { webhook_id: string; reason: (typeof LISTENING_ENDS)[number] };

/** Metrics of a gateway at `/health/channel`. */
export type ChannelMetrics = {
  connections: number;
  /** Rooms with at least one client, by kind. */
  rooms: Record<RoomKind, number>;
  /** Events sent since startup, counted once per client, and events per second over the last ten seconds. */
  events_sent: number;
  events_per_second: number;
  /**
   * Milliseconds from the write of an event to its hand-over, over the last 2,048 measurements; null before the first.
   */
  lag_ms: { p50: number | null; p95: number | null; max: number | null };
  /** Connections that the gateway refused or closed, by reason. */
  dropped: Partial<Record<ChannelCode, number>>;
};
