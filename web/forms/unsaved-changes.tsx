import { useBlocker } from '@tanstack/react-router';
import { Confirm } from '../components/confirm.tsx';

/** Asks before a page with unsaved changes is left: in a dialog, or in that of the browser if the tab is closed. */
export function UnsavedChanges({ isChanged }: { isChanged: boolean }) {
  const { status, proceed, reset } = useBlocker({
    shouldBlockFn: ({ current, next }) => current.pathname !== next.pathname,
    enableBeforeUnload: true,
    disabled: !isChanged,
    withResolver: true,
  });
  return (
    <DiscardChanges opened={status === 'blocked'} onKeep={() => reset?.()} onDiscard={() => proceed?.()} />
  );
}

type DiscardProps = { opened: boolean; onKeep: () => void; onDiscard: () => void };

/** Asks whether to discard the changes of a form. */
export function DiscardChanges({ opened, onKeep, onDiscard }: DiscardProps) {
  return (
    <Confirm
      opened={opened}
      onClose={onKeep}
      title="Discard changes?"
      confirmLabel="Discard changes"
      cancelLabel="Keep editing"
      isDestructive
      onConfirm={onDiscard}
    >
      Your changes are not saved.
    </Confirm>
  );
}
