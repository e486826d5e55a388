import type { QueryClient } from '@tanstack/react-query';
import { sessionQuery } from '../api/session.ts';
import type { AnyRouter } from '@tanstack/react-router';

const CHANNEL = 'baton-session';

/** What tabs tell each other. */
type TabMessage = 'signed-in' | 'signed-out';

/**
 * Sees to it that no screen outlives its session: wherever an answer says that nobody is signed in, and when another
 * tab signs out, the page leads to `/sign-in`, and from there back to where one was.
 */
export function watchSession(router: AnyRouter, queryClient: QueryClient) {
  const tabs = new BroadcastChannel(CHANNEL);

  const ended = () => {
    const { pathname, href } = router.state.location;
    // Where nobody was signed in, the way in leads to the sign-in page by itself.
    if (pathname === '/sign-in' || queryClient.getQueryData(sessionQuery.queryKey) === undefined) return;
    void router.navigate({ to: '/sign-in', search: { to: href, ended: 'yes' }, replace: true });
    // What somebody has seen is not for the next person at this screen.
    queryClient.clear();
  };

  tabs.addEventListener('message', ({ data }: MessageEvent<TabMessage>) => {
    if (data === 'signed-out') ended();
    if (data === 'signed-in' && router.state.location.pathname === '/sign-in') void router.invalidate();
  });
  return { ended };
}

/** Tells the other tabs. */
export function notifyTabs(word: TabMessage): void {
  const tabs = new BroadcastChannel(CHANNEL);
  tabs.postMessage(word);
  tabs.close();
}
