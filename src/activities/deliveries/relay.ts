import { randomUUIDv7 } from 'node:crypto';
import type { Database } from '../../database/database.ts';
import type { Notifications } from '../../database/common/notifications.ts';
import { isDatabaseOutage } from '../../database/common/outage.ts';
import { deleteRequest, storeRequest, readRequestState } from '../../database/webhooks/relays.ts';
import type { RelayAnswer } from '../../domain/channel/channel.ts';
import type { FailureKind } from '../../domain/common/failure-kinds.ts';
import type { AttemptRecord } from '../../outbound/attempt-record.ts';
import { statusFailure } from '../../outbound/failure.ts';

/** A request that goes to the listener of its webhook instead of a URL. */
export type RelayedAttempt = {
  webhookId: string;
  deliveryId: string;
  event: string;
  headers: Record<string, string>;
  body: Buffer;
  /** Time limit until the listener's answer, in milliseconds. */
  timeoutMs: number;
  signal?: AbortSignal;
};

/** Sends requests to listeners. */
export type Relay = {
  /**
   * Sends a request to the listener and returns the result in the form of an HTTP attempt.
   * @throws what the database throws, if the request could not be stored
   */
  attempt(request: RelayedAttempt): Promise<AttemptRecord>;
};

type Dependencies = {
  database: Database;
  notifications: Notifications;
  onError: (error: unknown) => void;
  /** Poll interval of a waiting request, in milliseconds. Default: {@link POLL_MS}. */
  pollMs?: number;
};

/** Poll interval of a waiting request, in milliseconds. Its listener may be gone, and notifications can be missed. */
const POLL_MS = 5_000;

/** Creates a relay over the database, through which a worker reaches the process that a listener is connected to. */
export function createRelay({ database, notifications, onError, pollMs = POLL_MS }: Dependencies): Relay {
  /** Returns the state of a request, or `unknown` during a database outage. */
  async function readState(id: string) {
    try {
      return await readRequestState(database, id);
    } catch (error) {
      if (isDatabaseOutage(error)) return 'unknown' as const;
      throw error;
    }
  }

  async function outcome(id: string, until: number, wakeUp: WakeUp, signal?: AbortSignal): Promise<Outcome> {
    for (;;) {
      if (!signal?.aborted) await wakeUp.within(Math.min(pollMs, until - performance.now()));
      const now = await readState(id);
      if (signal?.aborted || now === null) return failure('aborted', 'The attempt was aborted');
      if (now !== 'unknown' && now.answer) return now.answer;
      const isTaken = now !== 'unknown' && now.isTaken;
      if (performance.now() >= until) {
        return failure(
          'timeout',
          isTaken ? 'The listener did not answer in time' : 'No listener received it in time',
        );
      }
      if (now !== 'unknown' && !now.hasListener) return isTaken ? DISCONNECTED : NO_LISTENER;
    }
  }

  return {
    async attempt({ timeoutMs, signal, body, ...request }) {
      const startedAt = new Date();
      const begun = performance.now();
      const id = randomUUIDv7();
      const wakeUp = createWakeUp();
      const unsubscribe = notifications.subscribe('relayAnswers', id, wakeUp.wake);
      signal?.addEventListener('abort', wakeUp.wake, { once: true });
      let isStored = false;
      try {
        isStored = await storeRequest(database, {
          id,
          webhook_id: request.webhookId,
          delivery_id: request.deliveryId,
          event: request.event,
          method: 'POST',
          headers: request.headers,
          body: body.toString('base64'),
        });
        const result = isStored ? await outcome(id, begun + timeoutMs, wakeUp, signal) : NO_LISTENER;
        return recordOf(result, startedAt, performance.now() - begun);
      } finally {
        unsubscribe();
        signal?.removeEventListener('abort', wakeUp.wake);
        if (isStored) await deleteRequest(database, id).catch(onError);
      }
    },
  };
}

type Outcome = RelayAnswer | { failure: FailureKind; message: string };

function failure(kind: FailureKind, message: string): Outcome {
  return { failure: kind, message };
}

const NO_LISTENER = failure('connection_failed', 'No listener is connected');
const DISCONNECTED = failure('connection_closed', 'The listener disconnected before it answered');

function recordOf(result: Outcome, startedAt: Date, totalMs: number): AttemptRecord {
  const isAnswer = 'status' in result;
  const refusal = isAnswer ? statusFailure(result.status) : null;
  return {
    outcome: isAnswer && refusal === null ? 'succeeded' : 'failed',
    failure: isAnswer ? (refusal?.kind ?? null) : result.failure,
    message: isAnswer ? (refusal?.message ?? null) : result.message,
    address: null,
    response: isAnswer
      ? {
          status: result.status,
          headers: result.headers,
          body: Buffer.from(result.body, 'base64'),
          truncated: result.truncated,
        }
      : null,
    timings: {
      lookup_ms: null,
      connect_ms: null,
      tls_ms: null,
      // The time on the listener's machine. The rest of the total is the relay.
      first_byte_ms: isAnswer ? tenths(Math.min(result.duration_ms, totalMs)) : null,
      total_ms: tenths(totalMs),
    },
    started_at: startedAt,
    duration_ms: Math.round(totalMs),
  };
}

function tenths(milliseconds: number): number {
  return Math.round(milliseconds * 10) / 10;
}

type WakeUp = ReturnType<typeof createWakeUp>;

/** Creates a wake-up for one waiter. A wake-up that nothing waited for ends the next wait at once. */
function createWakeUp() {
  let rung = Promise.withResolvers<void>();
  return {
    wake: () => rung.resolve(),
    async within(ms: number): Promise<void> {
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, Math.max(0, ms));
      await Promise.race([rung.promise, promise]);
      clearTimeout(timer);
      rung = Promise.withResolvers<void>();
    },
  };
}
