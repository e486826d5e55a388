/** Rows of a long list that the browser lays out together, and skips while they are far from the viewport. */
export type RowGroup<Row> = { key: number; rows: readonly Row[] };

const MAX_ROWS = 50;

/**
 * Divides the rows of a list into groups. A row stays in its group while rows are added and removed around it, so that its
 * elements stay, too. Groups with the same rows as before are those of `before`.
 */
export function groupRows<Row>(
  rows: readonly Row[],
  idOf: (row: Row) => string,
  before: readonly RowGroup<Row>[],
): RowGroup<Row>[] {
  const keys = new Map(before.flatMap(({ key, rows: known }) => known.map((row) => [idOf(row), key])));
  const groups: { key: number; rows: Row[] }[] = [];
  let lastKey = Math.max(0, ...before.map(({ key }) => key));
  const parts = splitBy(rows, (row) => keys.get(idOf(row)));
  for (const [index, { key, rows: part }] of parts.entries()) {
    const [above, below] = [groups.at(-1), parts[index + 1]];
    const hasRoom = (group: { rows: Row[] }) => group.rows.length + part.length <= MAX_ROWS;
    if (key !== undefined && key !== above?.key) groups.push({ key, rows: part });
    else if (above && (key !== undefined || above.key === below?.key || hasRoom(above)))
      above.rows.push(...part);
    else if (below && hasRoom(below)) below.rows.unshift(...part);
    else
      for (let start = 0; start < part.length; start += MAX_ROWS)
        groups.push({ key: (lastKey += 1), rows: part.slice(start, start + MAX_ROWS) });
  }
  const known = new Map(before.map((group) => [group.key, group]));
  return groups.map((group) => {
    const same = known.get(group.key);
    return same && hasSameRows(same, group) ? same : group;
  });
}

/** Splits a list where the key of its rows changes. New rows have no key. */
function splitBy<Row>(rows: readonly Row[], keyOf: (row: Row) => number | undefined) {
  const parts: { key: number | undefined; rows: Row[] }[] = [];
  for (const row of rows) {
    const [key, last] = [keyOf(row), parts.at(-1)];
    if (last && last.key === key) last.rows.push(row);
    else parts.push({ key, rows: [row] });
  }
  return parts;
}

function hasSameRows<Row>(one: RowGroup<Row>, other: RowGroup<Row>): boolean {
  return one.rows.length === other.rows.length && one.rows.every((row, index) => row === other.rows[index]);
}
