import { infiniteQueryOptions, type QueryKey } from '@tanstack/react-query';
import { MAX_PAGE } from '../../src/domain/common/limits.ts';

/** A page of a list, as the API returns it. */
export type Paged<Row> = { data: Row[]; next_cursor: string | null };

/** Fetches all rows of a paged list. Only for short lists. */
export async function fetchAll<Row>(
  fetchPage: (page: { limit: number; cursor?: string }) => Promise<Paged<Row>>,
): Promise<Row[]> {
  const rows: Row[] = [];
  let cursor: string | null = null;
  do {
    const page = await fetchPage({ limit: MAX_PAGE, ...(cursor === null ? {} : { cursor }) });
    rows.push(...page.data);
    cursor = page.next_cursor;
  } while (cursor !== null);
  return rows;
}

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
