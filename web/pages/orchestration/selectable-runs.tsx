import { lazy, Suspense, useState, type ReactNode } from 'react';
import { useSession } from '../../api/session.ts';
import { applicableTo, type BulkAction } from './bulk.ts';
import { hasFilters, type ListFilters } from './list-search.ts';
import type { ListedRun } from './queries.ts';
import { RunTable } from './run-table.tsx';
import { SelectionBar } from './selection-bar.tsx';
import classes from './selection-bar.module.css';
import { useSelection } from './use-selection.ts';

const MatchingDialog = lazy(async () => ({
  default: (await import('./matching-dialog.tsx')).MatchingDialog,
}));
const BulkDialog = lazy(async () => ({ default: (await import('./bulk-dialog.tsx')).BulkDialog }));

type SelectableProps = {
  rows: readonly ListedRun[];
  openId: string | undefined;
  /** The selection ends when they change. */
  filters: ListFilters;
  /** Shown without rows. */
  empty: ReactNode;
  /** Lists the runs that the user has started since this time; all if it is undefined. */
  onShowNew: (since: string | undefined) => void;
};

/** An action for many runs that is asked about or in progress. */
type Bulk = { action: BulkAction; runs: readonly ListedRun[]; others: number };

/** The table of runs, with what can be done with those that are selected. */
export function SelectableRuns({ rows, openId, filters, empty, onShowNew }: SelectableProps) {
  const { hasScope } = useSession();
  const selection = useSelection(JSON.stringify(filters));
  const [bulk, setBulk] = useState<Bulk | null>(null);
  const [isForAll, setIsForAll] = useState(false);
  // Nothing happens to runs that are not listed any more.
  const selected = rows.filter((run) => selection.ids.has(run.execution_id));
  return (
    <div className={classes['selectable']}>
      {selected.length > 0 ? (
        <SelectionBar
          selected={selected}
          onAsk={(action) => setBulk(bulkOf(action, selected))}
          onAskForAll={hasFilters(filters) ? () => setIsForAll(true) : null}
          onClear={selection.clear}
        />
      ) : null}
      {rows.length === 0 ? (
        empty
      ) : (
        <RunTable rows={rows} openId={openId} selection={hasScope('tasks:write') ? selection : null} />
      )}
      <Suspense>
        {isForAll ? (
          <MatchingDialog filters={filters} onClose={() => setIsForAll(false)} onShowNew={onShowNew} />
        ) : null}
        {bulk ? (
          <BulkDialog
            {...bulk}
            onClose={() => setBulk(null)}
            onDone={() => {
              setBulk(null);
              selection.clear();
            }}
            onShowNew={onShowNew}
          />
        ) : null}
      </Suspense>
    </div>
  );
}

function bulkOf(action: BulkAction, selected: readonly ListedRun[]): Bulk {
  const runs = applicableTo(action, selected);
  return { action, runs, others: selected.length - runs.length };
}
