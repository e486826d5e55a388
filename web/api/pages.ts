import { infiniteQueryOptions, type QueryKey } from '@tanstack/react-query';

/** A page of a list, as the API returns it. */
export type Paged<Row> = { data: Row[]; next_cursor: string | null };

/** Returns query options for a paged list. The rows are those of all fetched pages. */
export function pagedQuery<Row>(
  queryKey: QueryKey,
  fetchPage: (cursor: string | undefined, signal: AbortSignal) => Promise<Paged<Row>>,
) {
  return infiniteQueryOptions({
    queryKey,
    queryFn: ({ pageParam, signal }) => fetchPage(pageParam, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last: Paged<Row>) => last.next_cursor ?? undefined,
    select: ({ pages }) => pages.flatMap((page) => page.data),
  });
}
