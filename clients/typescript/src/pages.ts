import type { Http, Query } from './http.ts';

/** A page of a list, as the API returns it. */
export type Page<Row> = { data: Row[]; next_cursor: string | null };

/** A list, newest first. It requests a page only when the caller reads rows of that page. */
export type Listing<Row> = AsyncIterable<Row> & {
  /** Yields the list page by page. */
  pages(): AsyncGenerator<Page<Row>, void, undefined>;
  /** Returns the first rows, at most `count`. */
  take(count: number): Promise<Row[]>;
};

type ListRequest = { path: string; query: Query; signal?: AbortSignal | undefined };

/** Creates the list at `path`. */
export function createListing<Row>(http: Http, { path, query, signal }: ListRequest): Listing<Row> {
  async function* pages() {
    let cursor: string | null = null;
    do {
      const page: Page<Row> = await http.json({
        method: 'GET',
        path,
        query: { ...query, cursor },
        signal,
      });
      yield page;
      cursor = page.next_cursor;
    } while (cursor !== null);
  }
  async function* rows() {
    for await (const page of pages()) yield* page.data;
  }
  return {
    pages,
    [Symbol.asyncIterator]: rows,
    async take(count) {
      const first: Row[] = [];
      if (count <= 0) return first;
      for await (const row of rows()) if (first.push(row) >= count) break;
      return first;
    },
  };
}
