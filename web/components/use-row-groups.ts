import { useState } from 'react';
import { groupRows, type RowGroup } from './row-groups.ts';

/** Returns the groups of the rows of a list. `idOf` must always be the same function. */
export function useRowGroups<Row>(
  rows: readonly Row[],
  idOf: (row: Row) => string,
): readonly RowGroup<Row>[] {
  const [shown, setShown] = useState(() => ({ rows, groups: groupRows(rows, idOf, []) }));
  if (shown.rows === rows) return shown.groups;
  const groups = groupRows(rows, idOf, shown.groups);
  setShown({ rows, groups });
  return groups;
}
