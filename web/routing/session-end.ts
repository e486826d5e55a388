import type { QueryClient } from '@tanstack/react-query';
import { sessionQuery } from '../api/session.ts';
import type { AnyRouter } from '@tanstack/react-router';

const CHANNEL = 'baton-session';

/** The messages between tabs. */
type TabMessage = 'signed-in' | 'signed-out';

/**
 * Opens `/sign-in` when a response shows that the session has ended, or when another tab signs out. The sign-in
 * returns to the same page.
 */
export function watchSession(router: AnyRouter, queryClient: QueryClient) {
  const tabs = new BroadcastChannel(CHANNEL);

  const ended = () => {
    const { pathname, href } = router.state.location;
    // Without a session before, the route guard redirects to the sign-in page.
    if (pathname === '/sign-in' || queryClient.getQueryData(sessionQuery.queryKey) === undefined) return;
    // A form with changes cannot be saved any more.
    const search = { to: href, ended: 'yes' } as const;
    void router.navigate({ to: '/sign-in', search, replace: true, ignoreBlocker: true });
    // The next user must not see the data of the previous one.
    queryClient.clear();
  };

  tabs.addEventListener('message', ({ data }: MessageEvent<TabMessage>) => {
    if (data === 'signed-out') ended();
    if (data === 'signed-in' && router.state.location.pathname === '/sign-in') void router.invalidate();
  });
  return { ended };
}

/** Notifies the other tabs. */
export function notifyTabs(word: TabMessage): void {
  const tabs = new BroadcastChannel(CHANNEL);
  tabs.postMessage(word);
  tabs.close();
}
