import { randomUUIDv7 } from 'node:crypto';
import type { Database } from '../../database/database.ts';
import type { Notifications } from '../../database/common/notifications.ts';
import { isDatabaseOutage } from '../../database/common/outage.ts';
import { dropRequest, leaveRequest, requestNow } from '../../database/webhooks/relays.ts';
import type { RelayAnswer } from '../../domain/channel/channel.ts';
import type { FailureKind } from '../../domain/common/failure-kinds.ts';
import type { AttemptRecord } from '../../outbound/attempt-record.ts';
import { statusFailure } from '../../outbound/failure.ts';

/** A request that goes to whoever listens to its webhook, in the place of an address. */
export type RelayedAttempt = {
  webhookId: string;
  deliveryId: string;
  event: string;
  headers: Record<string, string>;
  body: Buffer;
  /** From here to the listener's answer, in milliseconds. */
  timeoutMs: number;
  signal?: AbortSignal;
};

/** The way to listeners. */
export type Relay = {
  /**
   * Hands a request over and tells what became of it, as the sender does of one that went out by HTTP.
   * @throws what the database throws, where nothing was handed over
   */
  attempt(request: RelayedAttempt): Promise<AttemptRecord>;
};

type Dependencies = {
  database: Database;
  notifications: Notifications;
  onTrouble: (error: unknown) => void;
  /** How often a request that waits is looked at, unless every five seconds. */
  lookMs?: number;
};

/** How often a request that waits is looked at: its listener may be gone, and what is told may be missed. */
const LOOK_MS = 5_000;

/** Relays over the database, through which a worker reaches any process that a listener is connected to. */
export function createRelay({ database, notifications, onTrouble, lookMs = LOOK_MS }: Dependencies): Relay {
  /** How a request stands; while the database is away it is not known. */
  async function look(id: string) {
    try {
      return await requestNow(database, id);
    } catch (error) {
      if (isDatabaseOutage(error)) return 'unknown' as const;
      throw error;
    }
  }

  async function outcome(id: string, until: number, bell: Bell, signal?: AbortSignal): Promise<Outcome> {
    for (;;) {
      if (!signal?.aborted) await bell.within(Math.min(lookMs, until - performance.now()));
      const now = await look(id);
      if (signal?.aborted || now === null) return failure('aborted', 'The attempt was aborted');
      if (now !== 'unknown' && now.answer) return now.answer;
      const isTaken = now !== 'unknown' && now.isTaken;
      if (performance.now() >= until) {
        return failure(
          'timeout',
          isTaken ? 'The listener did not answer in time' : 'No listener received it in time',
        );
      }
      if (now !== 'unknown' && !now.isHeard) return isTaken ? LEFT : NOBODY;
    }
  }

  return {
    async attempt({ timeoutMs, signal, body, ...request }) {
      const startedAt = new Date();
      const begun = performance.now();
      const id = randomUUIDv7();
      const bell = createBell();
      const unsubscribe = notifications.subscribe('relayAnswers', id, bell.ring);
      signal?.addEventListener('abort', bell.ring, { once: true });
      let isLeft = false;
      try {
        isLeft = await leaveRequest(database, {
          id,
          webhook_id: request.webhookId,
          delivery_id: request.deliveryId,
          event: request.event,
          method: 'POST',
          headers: request.headers,
          body: body.toString('base64'),
        });
        const came = isLeft ? await outcome(id, begun + timeoutMs, bell, signal) : NOBODY;
        return recordOf(came, startedAt, performance.now() - begun);
      } finally {
        unsubscribe();
        signal?.removeEventListener('abort', bell.ring);
        if (isLeft) await dropRequest(database, id).catch(onTrouble);
      }
    },
  };
}

type Outcome = RelayAnswer | { failure: FailureKind; message: string };

function failure(kind: FailureKind, message: string): Outcome {
  return { failure: kind, message };
}

const NOBODY = failure('connection_failed', 'No listener is connected');
const LEFT = failure('connection_closed', 'The listener disconnected before it answered');

function recordOf(came: Outcome, startedAt: Date, totalMs: number): AttemptRecord {
  const isAnswer = 'status' in came;
  const refusal = isAnswer ? statusFailure(came.status) : null;
  return {
    outcome: isAnswer && refusal === null ? 'succeeded' : 'failed',
    failure: isAnswer ? (refusal?.kind ?? null) : came.failure,
    message: isAnswer ? (refusal?.message ?? null) : came.message,
    address: null,
    response: isAnswer
      ? {
          status: came.status,
          headers: came.headers,
          body: Buffer.from(came.body, 'base64'),
          truncated: came.truncated,
        }
      : null,
    timings: {
      lookup_ms: null,
      connect_ms: null,
      tls_ms: null,
      // What the listener's machine took; the rest of the total is the way there and back.
      first_byte_ms: isAnswer ? tenths(Math.min(came.duration_ms, totalMs)) : null,
      total_ms: tenths(totalMs),
    },
    started_at: startedAt,
    duration_ms: Math.round(totalMs),
  };
}

function tenths(milliseconds: number): number {
  return Math.round(milliseconds * 10) / 10;
}

type Bell = ReturnType<typeof createBell>;

/** Lets one sleeper be woken; a ring that nobody slept through wakes the next one. */
function createBell() {
  let rung = Promise.withResolvers<void>();
  return {
    ring: () => rung.resolve(),
    async within(ms: number): Promise<void> {
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, Math.max(0, ms));
      await Promise.race([rung.promise, promise]);
      clearTimeout(timer);
      rung = Promise.withResolvers<void>();
    },
  };
}
