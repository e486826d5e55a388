import { channelUrlOf } from '../../clients/typescript/src/channel.ts';
import { credentialsInHeaders } from '../../clients/typescript/src/credentials.ts';
import { followFeed } from '../../clients/typescript/src/follow.ts';
import { createHttp } from '../../clients/typescript/src/http.ts';
import type { FeedEvent } from '../../src/domain/tasks/feed-events.ts';

/** `live`: events arrive as they happen; `polling`: the screen asks for them, since neither channel nor streams work. */
export type FollowStatus = 'connecting' | 'live' | 'polling';

type FollowOptions = {
  onEvent(event: FeedEvent): void;
  onStatus(status: FollowStatus): void;
};

const RESPONSE_LIMIT_MS = 30_000;

/** Follows a run's feed from its first event to the last one, with the client package. Returns how to stop. */
export function follow(
  { executionId, projectId }: { executionId: string; projectId: string },
  { onEvent, onStatus }: FollowOptions,
): () => void {
  const http = createHttp({
    baseUrl: location.origin,
    // Requests carry the session's cookie.
    credentials: credentialsInHeaders({}),
    fetch: (input, init) => fetch(input, init),
    timeoutMs: RESPONSE_LIMIT_MS,
    retries: 0,
    random: Math.random,
  });
  const channel = { WebSocket, url: channelUrlOf(location.origin), projectId };
  let after = 0;
  let connection = new AbortController();

  async function connect({ signal }: AbortController): Promise<void> {
    const options = {
      after,
      signal,
      patienceMs: Number.POSITIVE_INFINITY,
      onWay: (way: string) => onStatus(way === 'polling' ? 'polling' : 'live'),
      onUnreachable: () => onStatus('connecting'),
    };
    try {
      for await (const event of followFeed(http, channel, executionId, options)) {
        after = event.seq;
        onEvent(event);
      }
    } catch {
      // It was stopped, or the service refuses: then the run itself cannot be loaded either, and its screen says why.
    }
  }

  /** A network that returns is used at once, not only at the next retry. */
  const reconnect = () => {
    connection.abort();
    connection = new AbortController();
    void connect(connection);
  };
  globalThis.addEventListener('online', reconnect);
  void connect(connection);
  return () => {
    globalThis.removeEventListener('online', reconnect);
    connection.abort();
  };
}
