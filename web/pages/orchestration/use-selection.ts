import { useCallback, useState } from 'react';
import { withSelected } from './bulk.ts';

const NONE: ReadonlySet<string> = new Set();

/** The selected runs of a list. The selection ends when other filters are set: `filters` identifies them. */
export function useSelection(filters: string) {
  const [selection, setSelection] = useState({ filters, ids: NONE });
  const onChange = useCallback(
    (changed: readonly string[], isOn: boolean) =>
      setSelection((before) => ({
        filters,
        ids: withSelected(before.filters === filters ? before.ids : NONE, changed, isOn),
      })),
    [filters],
  );
  const clear = () => setSelection({ filters, ids: NONE });
  return { ids: selection.filters === filters ? selection.ids : NONE, onChange, clear };
}
