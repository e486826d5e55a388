import { statusFailure } from '../../src/outbound/failure.ts';
import type { AttemptRecord, AttemptRequest } from '../../src/outbound/attempt-record.ts';
import type { OutboundClient } from '../../src/outbound/attempt.ts';
import type { FailureKind } from '../../src/domain/common/failure-kinds.ts';
import type { Clock, Process } from './clock.ts';
import type { Random } from './random.ts';

/** Behaviours of receivers. A dead one refuses connections, a dripping one never completes a response. */
export const RECEIVER_MODES = ['good', 'dead', 'slow', 'dripping', 'failing', 'flapping'] as const;
export type ReceiverMode = (typeof RECEIVER_MODES)[number];

/** A request that arrived. `trigger` comes from the trace of the sender. */
export type Arrival = {
  webhookId: string;
  deliveryId: string;
  trigger: string;
  signature: string;
  body: string;
  by: Process;
  at: number;
};

/** How a request ended for its sender. `aborted`: the sender did not wait for the end. */
export type RequestOutcome = 'succeeded' | 'failed' | 'aborted';

/** Latency of the network in milliseconds. */
export const NETWORK_MS = 8;

type Outcome = { afterMs: number; status: number } | { afterMs: number; failure: FailureKind };

/** Creates the receivers of webhooks or callbacks, whose URLs are `https://<id>/`. */
export function createReceivers(
  clock: Clock,
  random: Random,
  watch: {
    onSend(arrival: Arrival): void;
    onArrival(arrival: Arrival): void;
    /** The receiver has responded to a sender that exists, or has failed. */
    onResponse(arrival: Arrival, outcome: RequestOutcome): void;
  },
) {
  const modes = new Map<string, ReceiverMode>();

  function outcomeOf(mode: ReceiverMode, timeoutMs: number): Outcome {
    switch (mode) {
      case 'good':
        return { afterMs: random.between(1, 40), status: 204 };
      case 'failing':
        return { afterMs: random.between(1, 40), status: 500 };
      case 'dead':
        return { afterMs: random.between(1, 5), failure: 'connection_failed' };
      case 'slow':
        return { afterMs: random.between(200, 20_000), status: 200 };
      case 'dripping':
        return { afterMs: timeoutMs, failure: 'timeout' };
      case 'flapping':
        return outcomeOf(random.pick(['good', 'good', 'failing', 'dead', 'slow']), timeoutMs);
    }
  }

  async function attempt(request: AttemptRequest): Promise<AttemptRecord> {
    const by = clock.process();
    if (by === null) throw new Error('only processes send requests');
    const startedAt = new Date();
    const webhookId = new URL(request.url).hostname;
    const { promise, resolve } = Promise.withResolvers<Outcome>();
    const fail = () => resolve({ afterMs: 0, failure: 'aborted' });
    request.signal?.addEventListener('abort', fail, { once: true });
    if (request.signal?.aborted) fail();
    const { headers, body } = request;
    const sent: Arrival = {
      webhookId,
      deliveryId: headers['x-service-delivery'] ?? '',
      trigger: headers['x-trigger'] ?? '',
      signature: headers['x-service-signature'] ?? '',
      body: Buffer.from(body).toString(),
      by,
      at: clock.now(),
    };
    watch.onSend(sent);
    const work = () => {
      watch.onArrival({ ...sent, at: clock.now() });
      const outcome = outcomeOf(modes.get(webhookId) ?? 'good', request.timeoutMs);
      const isLate = outcome.afterMs > request.timeoutMs;
      const afterMs = Math.min(outcome.afterMs, request.timeoutMs);
      clock.after(afterMs + random.between(1, NETWORK_MS), by, () => {
        const isAborted = request.signal?.aborted === true;
        resolve(isLate ? { afterMs, failure: 'timeout' } : outcome);
        const isSuccess = !isLate && 'status' in outcome && statusFailure(outcome.status) === null;
        watch.onResponse(sent, isAborted ? 'aborted' : isSuccess ? 'succeeded' : 'failed');
      });
    };
    clock.after(random.between(1, NETWORK_MS), null, work);
    return recordOf(await promise, startedAt);
  }

  return {
    setMode: (webhookId: string, mode: ReceiverMode) => void modes.set(webhookId, mode),
    sender: { attempt, close: async () => {} } satisfies OutboundClient,
  };
}

export type Receivers = ReturnType<typeof createReceivers>;

function recordOf(outcome: Outcome, startedAt: Date): AttemptRecord {
  const totalMs = Date.now() - startedAt.getTime();
  const refusal = 'status' in outcome ? statusFailure(outcome.status) : null;
  const failure = 'status' in outcome ? (refusal?.kind ?? null) : outcome.failure;
  const response =
    'status' in outcome
      ? { status: outcome.status, headers: {}, body: Buffer.alloc(0), truncated: false }
      : null;
  return {
    outcome: failure === null ? 'succeeded' : 'failed',
    failure,
    message: failure === null ? null : `simulated: ${failure}`,
    address: null,
    response,
    timings: {
      lookup_ms: null,
      connect_ms: null,
      tls_ms: null,
      first_byte_ms: null,
      total_ms: totalMs,
    },
    started_at: startedAt,
    duration_ms: totalMs,
  };
}
