import { channelUrlOf, type ChannelDependencies, type WebSocketConstructor } from './channel.ts';
import { credentialsInHeaders } from './credentials.ts';
import { createHttp, type Http } from './http.ts';
import { backoff } from './retry.ts';
import { createRetryWindow } from './retry-window.ts';
import { pause } from './time.ts';
import { TransportFailed } from './transport-failed.ts';
import {
  fetchProgress,
  TRANSPORTS,
  type FollowedTask,
  type Transport,
  type TransportName,
} from './transports.ts';
import type { CallOptions, FeedEvent } from './types.ts';

export type FollowOptions = CallOptions & {
  /** Yields only events after this `seq`. Default: 0, which means all events. */
  after?: number | undefined;
  /** How long an unreachable service is retried, in milliseconds. Default: one minute. */
  patienceMs?: number | undefined;
  /**
   * Called when a connection is established, with the transport of the next events. `reason` says why the previous
   * connection ended. It is null for the first connection.
   */
  onTransport?: ((transport: TransportName, reason: string | null) => void) | undefined;
  /** Called before each retry when the service does not respond. */
  onUnreachable?: ((error: Error) => void) | undefined;
};

const RESPONSE_LIMIT_MS = 30_000;

/** How a caller without a client reaches the service: by the same headers in every request. */
export type FollowAccess = {
  baseUrl: string;
  headers: Record<string, string>;
  WebSocket: WebSocketConstructor;
  /** The project of the tokens for the live channel. */
  projectId: string;
};

/** Follows a task as {@link followFeed} does, for the command line and the screens, which have no API client of this package. */
export function followWith(
  { baseUrl, headers, WebSocket, projectId }: FollowAccess,
  id: string,
  options: FollowOptions,
): AsyncGenerator<FeedEvent, void, undefined> {
  const http = createHttp({
    baseUrl,
    credentials: credentialsInHeaders(headers),
    fetch: globalThis.fetch,
    timeoutMs: RESPONSE_LIMIT_MS,
    retries: 0,
    random: Math.random,
  });
  return followFeed(http, { WebSocket, url: channelUrlOf(baseUrl), projectId }, id, options);
}

/**
 * Yields a task's events after the `seq` in `after`, in order and once, to the last one. Reconnects and changes the
 * transport as needed.
 * @throws BatonProblem if the service rejects the request
 * @throws BatonUnreachable if the service has been unreachable for `patienceMs`
 */
export async function* followFeed(
  http: Http,
  channel: ChannelDependencies,
  id: string,
  { after = 0, patienceMs, signal, onTransport, onUnreachable }: FollowOptions,
): AsyncGenerator<FeedEvent, void, undefined> {
  const retryWindow = createRetryWindow(http.random, patienceMs);
  const fallbacks = TRANSPORTS.slice(1);
  let transport: Transport = TRANSPORTS[0];
  let connected: TransportName | null = null;
  let reason: string | null = null;
  const onConnected = () => {
    retryWindow.reset();
    // Polling connects for each request. Only the first one is reported.
    if (transport.name === 'polling' && connected === 'polling') return;
    connected = transport.name;
    onTransport?.(transport.name, reason);
  };
  const task: FollowedTask = { http, channel, id, signal, onConnected };
  let failures = 0;
  for (let seq = after; ; ) {
    const seqBefore = seq;
    try {
      for await (const event of transport.read(task, seq)) {
        if (event.seq <= seq) continue;
        seq = event.seq;
        retryWindow.reset();
        yield event;
      }
      if ((await fetchProgress(task, seq)).isComplete) return;
      retryWindow.reset();
      if (fallbacks.length > 0) throw new TransportFailed('The connection ended before the task did.');
    } catch (error) {
      signal?.throwIfAborted();
      if (!(error instanceof TransportFailed)) {
        const delayMs = retryWindow.delayAfter(error);
        onUnreachable?.(error as Error);
        connected = null;
        await pause(delayMs, signal);
        continue;
      }
      reason = error.message;
      failures = seq > seqBefore ? 1 : failures + 1;
      const next = error.isPermanent || failures >= transport.maxFailures ? fallbacks.shift() : undefined;
      if (next === undefined) await pause(backoff(failures, http.random), signal);
      else [transport, failures] = [next, 0];
    }
  }
}
