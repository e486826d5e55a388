import { Button } from '@mantine/core';

/** Closes a dialog and lists the runs that it started. */
export function ShowNewRuns({ onClose, onShowNew }: { onClose: () => void; onShowNew: () => void }) {
  return (
    <Button
      onClick={() => {
        onClose();
        onShowNew();
      }}
    >
      Show new runs
    </Button>
  );
}
