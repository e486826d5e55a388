import { Button, Modal, Stack, Text } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { unwrap, api } from '../../api/client.ts';
import { Confirm } from '../../components/confirm.tsx';
import { ShownOnce } from '../../components/shown-once.tsx';
import { runQuery, type Run } from './queries.ts';
import { shownStatus } from './words.ts';

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
  const queryClient = useQueryClient();
  const navigate = useNavigate();
  const watch = (executionId: string) => {
    onClose();
    void navigate({ to: '/orchestration/$executionId', params: { executionId } });
  };
  const rerun = useMutation({
    mutationFn: () =>
      unwrap(
        api.POST('/api/v1/tasks/{execution_id}/rerun', {
          params: { path: { execution_id: run.execution_id } },
          body: from === '' ? {} : { from_step: from },
        }),
      ),
    onSuccess({ execution_id: executionId }) {
      void queryClient.invalidateQueries({ queryKey: ['runs'] });
      void queryClient.invalidateQueries({ queryKey: runQuery(run.execution_id).queryKey, exact: true });
      // The new callback secret must be copied before the page changes.
      if (run.callback.url === null) watch(executionId);
    },
  });
  if (rerun.data && run.callback.url !== null) {
    const { callback_secret: secret, execution_id: executionId } = rerun.data;
    return (
      <Modal opened onClose={onClose} title="Run started" closeButtonProps={{ 'aria-label': 'Close' }}>
        <Stack gap="md">
          <ShownOnce value={secret} label="Callback secret">
            Copy the callback secret of the new run now. It is shown only once.
          </ShownOnce>
          <Button onClick={() => watch(executionId)}>Open run</Button>
        </Stack>
      </Modal>
    );
  }
  return (
    <Confirm
      opened
      onClose={onClose}
      title={`Rerun “${run.title}”?`}
      confirmLabel="Rerun"
      onConfirm={() => rerun.mutate()}
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
