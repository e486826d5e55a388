import { queryOptions, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { unwrap, api } from '../../api/client.ts';
import { isUnread } from './notice-text.ts';

/** How many notifications are counted. */
const MAX_NOTICES = 100;
const RENEW_MS = 15_000;

const noticesQuery = queryOptions({
  queryKey: ['notices'],
  queryFn: ({ signal }) =>
    unwrap(api.GET('/api/v1/notifications', { params: { query: { limit: MAX_NOTICES } }, signal })),
  refetchInterval: RENEW_MS,
});

/**
 * Returns the latest notifications, the number of unread ones, whether there are older ones, and functions that mark
 * them as read.
 */
export function useNotices() {
  const client = useQueryClient();
  const { data } = useQuery(noticesQuery);
  const notices = data?.data ?? [];
  const refresh = () => client.invalidateQueries({ queryKey: noticesQuery.queryKey });
  const read = useMutation({
    mutationFn: (id: string) =>
      unwrap(api.POST('/api/v1/notifications/{id}/read', { params: { path: { id } } })),
    onSettled: refresh,
  });
  const readAll = useMutation({
    mutationFn: () => unwrap(api.POST('/api/v1/notifications/read-all')),
    onSettled: refresh,
  });
  return {
    notices,
    unread: notices.filter(isUnread).length,
    hasMore: (data?.next_cursor ?? null) !== null,
    read: (id: string) => read.mutate(id),
    readAll: () => readAll.mutate(),
  };
}
