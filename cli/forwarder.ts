import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { RELAY_FAILURES, type RelayAnswer, type RelayRequest } from '../src/domain/channel/channel.ts';
import {
  DELIVERY_RESPONSE_BYTES,
  DELIVERY_TIMEOUT_MS,
  MAX_RELAYED_HEADER_LENGTH,
  MAX_RELAYED_HEADERS,
  MAX_RELAYED_MESSAGE_LENGTH,
} from '../src/domain/common/limits.ts';
import { createAddressGuard } from '../src/outbound/address-guard.ts';
import { createOutboundClient } from '../src/outbound/attempt.ts';
import type { AttemptRecord } from '../src/outbound/attempt-record.ts';
import { localFolder } from './local-service.ts';

/** Posts deliveries to a local address, as the service would. */
export type Forwarder = {
  /** Returns the result. A request that is repeated after a lost connection is not posted again. */
  forward(request: RelayRequest): Promise<RelayAnswer>;
  close(): Promise<void>;
};

export type Forwarded = {
  answer: RelayAnswer;
  /** Whether the response is a 2xx. */
  succeeded: boolean;
  duration_ms: number;
};

/** How long results are cached, in milliseconds. */
const CACHE_MS = 2 * DELIVERY_TIMEOUT_MS;
/** Trusted so that `https://localhost` works with the certificate of the local service. */
const LOCAL_CA = join(localFolder(process.env), 'tls', 'ca.pem');

/** `onPosted` is called after each post that `signal` did not abort. */
export function createForwarder(
  url: string,
  signal: AbortSignal,
  onPosted: (request: RelayRequest, forwarded: Forwarded) => void,
): Forwarder {
  const sender = createOutboundClient({
    // The user chooses the address, and the request is sent from their machine.
    guard: createAddressGuard(['0.0.0.0/0', '::/0']),
    ...(existsSync(LOCAL_CA) ? { ca: readFileSync(LOCAL_CA, 'utf8') } : {}),
  });
  const known = new Map<string, Promise<RelayAnswer>>();

  async function post(request: RelayRequest): Promise<RelayAnswer> {
    const { headers, body } = request;
    const record = await sender.attempt({
      url,
      headers,
      body: Buffer.from(body, 'base64'),
      timeoutMs: DELIVERY_TIMEOUT_MS,
      maxResponseBytes: DELIVERY_RESPONSE_BYTES,
      signal,
    });
    const { outcome, duration_ms } = record;
    const answer = answerOf(record);
    if (!signal.aborted) onPosted(request, { answer, succeeded: outcome === 'succeeded', duration_ms });
    return answer;
  }

  return {
    forward(request) {
      const earlier = known.get(request.id);
      if (earlier !== undefined) return earlier;
      const posting = post(request);
      known.set(request.id, posting);
      void posting.then(() => setTimeout(() => known.delete(request.id), CACHE_MS).unref());
      return posting;
    },
    close: () => sender.close(),
  };
}

function answerOf({ failure, message, response, duration_ms }: AttemptRecord): RelayAnswer {
  const isWhole = failure === null || failure === 'status' || failure === 'redirect';
  if (response === null || !isWhole) {
    const kind = RELAY_FAILURES.find((one) => one === failure) ?? 'connection_failed';
    return { failure: kind, message: (message ?? '').slice(0, MAX_RELAYED_MESSAGE_LENGTH) };
  }
  const { status, headers, body, truncated } = response;
  if (status > 599) {
    return {
      failure: 'invalid_response',
      message: `The response has status ${status}, which is not a valid HTTP status`,
    };
  }
  return { status, headers: plainHeaders(headers), body: body.toString('base64'), truncated, duration_ms };
}

/**
 * Returns headers that the service accepts. A local receiver may send more of them, longer ones, and characters that are
 * not allowed.
 */
function plainHeaders(headers: Record<string, string>): Record<string, string> {
  const entries = Object.entries(headers)
    .slice(0, MAX_RELAYED_HEADERS)
    .map(([name, value]) => [
      name,
      value.replaceAll(/[^\t\x20-\x7e\x80-\xff]/g, '?').slice(0, MAX_RELAYED_HEADER_LENGTH),
    ]);
  return Object.fromEntries(entries);
}
