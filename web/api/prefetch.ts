import type { FetchQueryOptions, QueryClient, QueryKey } from '@tanstack/react-query';
import type { pagedQuery } from './pages.ts';

/**
 * Starts to fetch what a page shows, before its code has arrived, unless it is in the cache. The page itself refreshes what is
 * cached, and shows an error.
 */
export function prefetch<Data, Key extends QueryKey>(
  client: QueryClient,
  query: FetchQueryOptions<Data, Error, Data, Key>,
): void {
  if (client.getQueryData(query.queryKey) === undefined) void client.prefetchQuery(query);
}

/** Does the same as {@link prefetch} for the first page of a list. */
export function prefetchList<Row>(client: QueryClient, query: ReturnType<typeof pagedQuery<Row>>): void {
  if (client.getQueryData(query.queryKey) === undefined) void client.prefetchInfiniteQuery(query);
}
