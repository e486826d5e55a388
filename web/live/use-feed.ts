import { useEffect, useRef, useState } from 'react';
import type { FeedEvent } from '../../src/domain/tasks/feed-events.ts';
import { answered, api } from '../api/client.ts';
import { follow, type FollowStatus } from './follow.ts';

/** Events that come close together are shown together. */
const GATHER_MS = 60;

type Run = {
  executionId: string;
  projectId: string;
  room: string;
  /** `seq` of the last event that the run's detail knows of. */
  lastSeq: number;
  /** That nothing will follow what the detail knows of. */
  isOver: boolean;
};

/**
 * The feed of a run from its first event on, live until the last one. `onNews` is called when something has come; many
 * events within a moment are one call. For one run: give the component another key for another run.
 */
export function useFeed({ executionId, projectId, room, lastSeq, isOver }: Run, onNews: () => void) {
  const [events, setEvents] = useState<readonly FeedEvent[]>([]);
  const [status, setStatus] = useState<FollowStatus>('connecting');
  const [error, setError] = useState<unknown>(null);
  const tell = useRef(onNews);
  useEffect(() => {
    tell.current = onNews;
  });
  // A run that ends while one looks is followed to its last event; one that had ended is read once.
  const wasOver = useRef(isOver);
  const stopping = useRef<() => void>(() => {});

  useEffect(() => {
    const all: FeedEvent[] = [];
    let timer: ReturnType<typeof setTimeout> | undefined;
    const show = () => {
      timer = undefined;
      setEvents([...all]);
      tell.current();
    };
    const onEvents = (fresh: readonly FeedEvent[]) => {
      all.push(...fresh);
      timer ??= setTimeout(show, GATHER_MS);
    };
    const read = async (after: number) => {
      const params = { path: { execution_id: executionId }, query: { after } };
      const page = await answered(api.GET('/api/v1/tasks/{execution_id}/events', { params }));
      return (page as { data: FeedEvent[] }).data; // as text only where a stream is asked for
    };
    stopping.current = wasOver.current
      ? readOnce(read, onEvents, setError)
      : follow(room, 0, {
          token: () => tokenFor(projectId),
          open: openChannel,
          read,
          onEvents,
          onStatus: setStatus,
        });
    return () => {
      clearTimeout(timer);
      stopping.current();
    };
  }, [executionId, projectId, room]);

  const hasAll = isOver && (events.at(-1)?.seq ?? 0) >= lastSeq;
  useEffect(() => {
    if (hasAll) stopping.current();
  }, [hasAll]);

  return { events, status, error };
}

function readOnce(
  read: (after: number) => Promise<readonly FeedEvent[]>,
  onEvents: (events: readonly FeedEvent[]) => void,
  onError: (error: unknown) => void,
): () => void {
  let stopped = false;
  read(0).then(
    (events) => (stopped ? undefined : onEvents(events)),
    (error: unknown) => (stopped ? undefined : onError(error)),
  );
  return () => {
    stopped = true;
  };
}

async function tokenFor(projectId: string) {
  const body = { project_id: projectId };
  const { token, expires_at } = await answered(api.POST('/api/v1/tokens', { body }));
  return { token, expiresAt: Date.parse(expires_at) };
}

function openChannel(token: string): WebSocket {
  const address = new URL('/ws', location.href);
  address.protocol = location.protocol === 'https:' ? 'wss:' : 'ws:';
  address.searchParams.set('token', token);
  return new WebSocket(address);
}
