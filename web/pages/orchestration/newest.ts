type Page<Row> = { data: Row[]; next_cursor: string | null };
/** The pages of a list that were loaded, as TanStack Query keeps them. */
type LoadedPages<Row> = { pages: Page<Row>[]; pageParams: unknown[] };

/**
 * Returns the loaded pages with a newer response of the first page. It replaces all runs that are not older than its last one,
 * so that new runs appear and those that no longer match disappear. If more runs are new than fit on a page, those after them
 * are not known, and the list begins again; also if no loaded run is older.
 */
export function withNewest<Row extends { execution_id: string }>(
  list: LoadedPages<Row>,
  newest: Page<Row>,
): LoadedPages<Row> {
  const alone = { pages: [newest], pageParams: [undefined] };
  if (newest.next_cursor === null) return alone;
  const last = newest.data.at(-1);
  // A page without a match that is not the last one says nothing about the others.
  if (last === undefined) return list;
  const isOlder = ({ execution_id: id }: Row) => id < last.execution_id;
  const [first, ...others] = list.pages.map((page) =>
    page.data.every(isOlder) ? page : { ...page, data: page.data.filter(isOlder) },
  );
  const newestBefore = list.pages.find(({ data }) => data.length > 0)?.data[0];
  const isKnownBetween = newestBefore !== undefined && !isOlder(newestBefore);
  if (first === undefined || !isKnownBetween || [first, ...others].every(({ data }) => data.length === 0))
    return alone;
  return { ...list, pages: [{ ...first, data: [...newest.data, ...first.data] }, ...others] };
}
