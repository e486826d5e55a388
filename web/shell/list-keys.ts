/**
 * Moves the focus to the next or previous row of the list of the page, `by` 1 or -1; from outside the list, to its first
 * row. Returns false if there is no list, or if a panel beside it moves through it.
 */
export function moveInList(by: -1 | 1): boolean {
  if (document.querySelector('aside[data-side-panel]')) return false;
  const rows = [...document.querySelectorAll('main [data-list-row]')];
  const current = rows.findIndex((row) => row.contains(document.activeElement));
  const row = rows[current === -1 ? 0 : Math.min(Math.max(current + by, 0), rows.length - 1)];
  const link = row?.querySelector('a');
  if (!row || !link) return false;
  link.focus({ preventScroll: true });
  row.scrollIntoView({ block: 'nearest' });
  return true;
}

/** Focuses the search of the list of the page, and selects its text. Returns false if there is none. */
export function focusListSearch(): boolean {
  const field = document.querySelector<HTMLInputElement>('main input[data-list-search]');
  field?.focus();
  field?.select();
  return field !== null;
}
