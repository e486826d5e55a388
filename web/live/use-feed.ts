import { useEffect, useRef, useState } from 'react';
import type { FeedEvent } from '../../src/domain/tasks/feed-events.ts';
import { unwrap, api } from '../api/client.ts';
import { follow, type FollowStatus } from './follow.ts';

/** Events that arrive close together are shown together. */
const GATHER_MS = 60;

/** `isOver`: the run has sent its last event. */
type Run = { executionId: string; projectId: string; isOver: boolean };

/**
 * The feed of a run from its first event on, live until the last one. `onNews` is called when events have arrived, once
 * for events that arrive close together. Serves one run: a component for another run needs another key.
 */
export function useFeed({ executionId, projectId, isOver }: Run, onNews: () => void) {
  const [events, setEvents] = useState<readonly FeedEvent[]>([]);
  const [status, setStatus] = useState<FollowStatus>('connecting');
  const notify = useRef(onNews);
  useEffect(() => {
    notify.current = onNews;
  });
  // A run that ends while it is shown is followed to its last event. One that had ended is read once, and followed again
  // each time its callback is retried.
  const [followed, setFollowed] = useState({ isOver, times: isOver ? 0 : 1 });
  if (followed.isOver !== isOver) setFollowed({ isOver, times: followed.times + (isOver ? 0 : 1) });
  const { times } = followed;

  useEffect(() => {
    const all: FeedEvent[] = [];
    let timer: ReturnType<typeof setTimeout> | undefined;
    const show = () => {
      timer = undefined;
      setEvents([...all]);
      notify.current();
    };
    const onEvent = (event: FeedEvent) => {
      all.push(event);
      timer ??= setTimeout(show, GATHER_MS);
    };
    const run = { executionId, projectId };
    const stop = times === 0 ? readOnce(executionId, onEvent) : follow(run, { onEvent, onStatus: setStatus });
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, [executionId, projectId, times]);

  return { events, status };
}

/** Returns how to stop. */
function readOnce(executionId: string, onEvent: (event: FeedEvent) => void): () => void {
  let isStopped = false;
  const params = { path: { execution_id: executionId } };
  unwrap(api.GET('/api/v1/tasks/{execution_id}/events', { params })).then(
    // As text only where a stream is asked for.
    (page) => isStopped || (page as { data: FeedEvent[] }).data.forEach(onEvent),
    // The run itself cannot be loaded either, and its screen says why.
    () => {},
  );
  return () => {
    isStopped = true;
  };
}
