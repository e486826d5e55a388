import { followWith } from '../../clients/typescript/src/follow.ts';
import type { FeedEvent } from '../../src/domain/tasks/feed-events.ts';

/** `live`: events arrive as they happen; `polling`: the screen polls, because neither channel nor streams work. */
export type FollowStatus = 'connecting' | 'live' | 'polling';

type FollowOptions = {
  onEvent(event: FeedEvent): void;
  onStatus(status: FollowStatus): void;
};

/** Time until a new connection after an error response, and while polling, in milliseconds. */
const RESTART_MS = 5_000;
const LEAVE_POLLING_MS = 300_000;

/** Follows a run's feed from its first event to the last one, with the client package. Returns a function that stops it. */
export function follow(
  { executionId, projectId }: { executionId: string; projectId: string },
  { onEvent, onStatus }: FollowOptions,
): () => void {
  // Requests carry the session's cookie.
  const access = { baseUrl: location.origin, headers: {}, WebSocket, projectId };
  let after = 0;
  let connection = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;

  async function connect({ signal }: AbortController): Promise<void> {
    const options = {
      after,
      signal,
      patienceMs: Number.POSITIVE_INFINITY,
      onTransport(transport: string) {
        onStatus(transport === 'polling' ? 'polling' : 'live');
        if (transport === 'polling') reconnectIn(LEAVE_POLLING_MS);
      },
      onUnreachable: () => onStatus('connecting'),
    };
    try {
      for await (const event of followWith(access, executionId, options)) {
        after = event.seq;
        onEvent(event);
      }
      clearTimeout(timer);
    } catch {
      if (signal.aborted) return;
      // An error response, for example after the session has ended.
      onStatus('connecting');
      reconnectIn(RESTART_MS);
    }
  }

  function reconnectIn(ms: number): void {
    clearTimeout(timer);
    timer = setTimeout(reconnect, ms);
  }

  /** Also called when the network returns, which is sooner than the next retry. */
  function reconnect(): void {
    clearTimeout(timer);
    connection.abort();
    connection = new AbortController();
    void connect(connection);
  }

  globalThis.addEventListener('online', reconnect);
  void connect(connection);
  return () => {
    globalThis.removeEventListener('online', reconnect);
    clearTimeout(timer);
    connection.abort();
  };
}
