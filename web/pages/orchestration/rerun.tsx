import { Button, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import type { Schemas } from '../../api/client.ts';
import { Confirm } from '../../components/confirm.tsx';
import { ShownOnce } from '../../components/shown-once.tsx';
import type { Run } from './queries.ts';
import { useRerun } from './use-rerun.ts';
import { shownStatus } from './words.ts';
import { Dialog } from '../../components/dialog.tsx';

/** Reruns an ended run from a selected step. */
export function Rerun({ run }: { run: Run }) {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <>
      <Button size="xs" variant="default" onClick={() => setIsOpen(true)}>
        Rerun…
      </Button>
      {isOpen ? <RerunDialog run={run} onClose={() => setIsOpen(false)} /> : null}
    </>
  );
}

function RerunDialog({ run, onClose }: { run: Run; onClose: () => void }) {
  const firstIncomplete = run.steps.find((step) => step.status !== 'completed') ?? run.steps[0];
  const [from, setFrom] = useState(firstIncomplete?.name ?? '');
  const rerun = useRerun(run);
  if (rerun.data && run.callback.url !== null) {
    return <RunStarted started={rerun.data} onClose={onClose} onOpen={rerun.open} />;
  }
  return (
    <Confirm
      opened
      onClose={onClose}
      title={`Rerun “${run.title}”?`}
      confirmLabel="Rerun"
      onConfirm={() =>
        rerun.mutate(from === '' ? {} : { from_step: from }, {
          onSuccess: () => run.callback.url === null && onClose(),
        })
      }
      isPending={rerun.isPending}
      error={rerun.error}
    >
      <Stack gap="sm">
        <Text size="sm">
          Starts a new run. It repeats the selected step, all steps that depend on it, and all incomplete
          steps. It keeps the results of the others.
          {run.callback.url === null ? '' : ' The result is sent to the same callback URL.'}
        </Text>
        {run.steps.length > 0 ? (
          <label>
            <Text span size="sm" fw={500} mr="xs">
              Start from
            </Text>
            <select
              className="plain-select"
              value={from}
              onChange={(event) => setFrom(event.currentTarget.value)}
            >
              {run.steps.map((step) => (
                <option key={step.id} value={step.name}>
                  {step.name} ({shownStatus(step, run)})
                </option>
              ))}
            </select>
          </label>
        ) : null}
      </Stack>
    </Confirm>
  );
}

type StartedProps = {
  started: Schemas['TaskRerun'];
  onClose: () => void;
  onOpen: (executionId: string) => void;
};

/** Shows the callback secret of a rerun once. */
export function RunStarted({ started, onClose, onOpen }: StartedProps) {
  return (
    <Dialog opened onClose={onClose} title="Run started" closeOnClickOutside={false}>
      <Stack gap="md">
        <ShownOnce value={started.callback_secret} label="Callback secret">
          Copy the callback secret of the new run now. It is shown only once.
        </ShownOnce>
        <Button
          onClick={() => {
            onClose();
            onOpen(started.execution_id);
          }}
        >
          Open run
        </Button>
      </Stack>
    </Dialog>
  );
}
