import { Button, Group, Text } from '@mantine/core';
import { applicableTo, MAX_SELECTED, type BulkAction } from './bulk.ts';
import type { ListedRun } from './queries.ts';

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
  return (
    <Group gap="xs" mb="xs" role="region" aria-label="Selected runs">
      <Text size="sm" fw={600}>
        {selected.length} selected{selected.length === MAX_SELECTED ? ' (the maximum)' : ''}
      </Text>
      {button('cancel', 'Cancel')}
      {button('rerun', 'Rerun')}
      {onAskForAll ? (
        <Button variant="default" size="xs" onClick={onAskForAll}>
          All that match…
        </Button>
      ) : null}
      <Button variant="subtle" size="xs" onClick={onClear}>
        Clear selection
      </Button>
    </Group>
  );
}
