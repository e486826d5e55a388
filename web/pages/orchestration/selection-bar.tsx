import { Button, Group, Text } from '@mantine/core';
import { useEffect } from 'react';
import { applicableTo, MAX_SELECTED, type BulkAction } from './bulk.ts';
import type { ListedRun } from './queries.ts';
import classes from './selection-bar.module.css';

type BarProps = {
  selected: readonly ListedRun[];
  onAsk: (action: BulkAction) => void;
  /** Asks about all runs that match the filters; null without filters. */
  onAskForAll: (() => void) | null;
  onClear: () => void;
};

/** What can be done with the selected runs, with the number that it is possible for. */
export function SelectionBar({ selected, onAsk, onAskForAll, onClear }: BarProps) {
  const button = (action: BulkAction, label: string) => {
    const count = applicableTo(action, selected).length;
    return (
      <Button variant="default" size="xs" disabled={count === 0} onClick={() => onAsk(action)}>
        {label} {count}…
      </Button>
    );
  };
  useEffect(() => () => void setTimeout(focusSelectAll), []);
  return (
    <Group gap="xs" className={classes['bar']} role="region" aria-label="Selected runs">
      <Text size="sm" fw={600}>
        {selected.length} selected{selected.length === MAX_SELECTED ? ' (the maximum)' : ''}
      </Text>
      {button('cancel', 'Cancel')}
      {button('rerun', 'Rerun')}
      {onAskForAll ? (
        <Button variant="default" size="xs" onClick={onAskForAll}>
          All matching runs…
        </Button>
      ) : null}
      <Button variant="subtle" size="xs" onClick={onClear}>
        Clear selection
      </Button>
    </Group>
  );
}

/** Keeps the place in the page when the bar disappears with the button that had the focus. */
function focusSelectAll(): void {
  if (document.activeElement !== document.body) return;
  document.querySelector<HTMLElement>('[data-select-all]')?.focus({ preventScroll: true });
}
