import { queryOptions, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { answered, api, type Schemas } from '../../api/client.ts';

export type Notice = Schemas['Notification'];

/** So many are shown, and counted. */
export const AT_ONCE = 30;
const RENEW_MS = 15_000;

const noticesQuery = queryOptions({
  queryKey: ['notices'],
  queryFn: ({ signal }) =>
    answered(api.GET('/api/v1/notifications', { params: { query: { limit: AT_ONCE } }, signal })),
  refetchInterval: RENEW_MS,
});

/** One's latest notifications, how many of them were not read, and having read them. */
export function useNotices() {
  const client = useQueryClient();
  const { data } = useQuery(noticesQuery);
  const notices = data?.data ?? [];
  const renew = () => client.invalidateQueries({ queryKey: noticesQuery.queryKey });
  const read = useMutation({
    mutationFn: (id: string) =>
      answered(api.POST('/api/v1/notifications/{id}/read', { params: { path: { id } } })),
    onSettled: renew,
  });
  const readAll = useMutation({
    mutationFn: () => answered(api.POST('/api/v1/notifications/read-all')),
    onSettled: renew,
  });
  return {
    notices,
    unread: notices.filter(({ read_at }) => read_at === null).length,
    read: (id: string) => read.mutate(id),
    readAll: () => readAll.mutate(),
  };
}
