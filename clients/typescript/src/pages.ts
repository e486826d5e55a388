import type { Http, Query } from './http.ts';

/** A page of a list, as the API gives it. */
export type Page<Row> = { data: Row[]; next_cursor: string | null };

/** A list that is read page by page as far as it is looked at, newest first. Nothing is read before that. */
export type Listing<Row> = AsyncIterable<Row> & {
  /** The same by pages. */
  pages(): AsyncGenerator<Page<Row>, void, undefined>;
  /** The first rows, as many as there are and at most `count`. */
  take(count: number): Promise<Row[]>;
};

type Wish = { path: string; query: Query; signal?: AbortSignal | undefined };

/** The list at `path`. */
export function listing<Row>(http: Http, { path, query, signal }: Wish): Listing<Row> {
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
      const taken: Row[] = [];
      if (count <= 0) return taken;
      for await (const row of rows()) if (taken.push(row) >= count) break;
      return taken;
    },
  };
}
