import { Button, Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { MAX_REASON_LENGTH } from '../../../src/domain/common/limits.ts';
import { isTerminal } from '../../../src/domain/tasks/task-states.ts';
import { useSession } from '../../api/session.ts';
import { Confirm } from '../../components/confirm.tsx';
import type { Run } from './queries.ts';
import { Rerun } from './rerun.tsx';
import { useRunControl, type ControlAction } from './use-run-control.ts';

/** The buttons that pause, continue, cancel or rerun a run, for users with the permission. */
export function RunActions({ run }: { run: Run }) {
  const { hasScope } = useSession();
  const [dialog, setDialog] = useState<'pause' | 'cancel' | null>(null);
  const control = useRunControl(run.execution_id, () => setDialog(null));
  if (!hasScope('tasks:write')) return null;
  if (isTerminal(run.state)) return <Rerun run={run} />;
  const pending = (action: ControlAction) => control.isPending && control.variables.action === action;
  return (
    <>
      {run.question ? null : run.state === 'paused' ? (
        <Button
          size="xs"
          onClick={() => control.mutate({ action: 'continue' })}
          loading={pending('continue')}
        >
          Continue
        </Button>
      ) : (
        <Button size="xs" variant="default" onClick={() => setDialog('pause')}>
          Pause…
        </Button>
      )}
      <Button size="xs" variant="default" onClick={() => setDialog('cancel')}>
        Cancel…
      </Button>
      {dialog ? (
        <ReasonDialog
          key={dialog}
          action={dialog}
          run={run}
          onClose={() => {
            setDialog(null);
            control.reset();
          }}
          onConfirm={(reason) => control.mutate({ action: dialog, reason })}
          pending={control.isPending}
          error={control.error}
        />
      ) : null}
    </>
  );
}

type DialogProps = {
  action: 'pause' | 'cancel';
  run: Run;
  onClose: () => void;
  onConfirm: (reason: string) => void;
  pending: boolean;
  error: unknown;
};

function ReasonDialog({ action, run, onClose, onConfirm, pending, error }: DialogProps) {
  const [reason, setReason] = useState('');
  const cancels = action === 'cancel';
  const running = run.steps.filter((step) => step.status === 'running').map((step) => step.name);
  return (
    <Confirm
      opened
      onClose={onClose}
      title={cancels ? `Cancel “${run.title}”?` : `Pause “${run.title}”?`}
      confirmLabel={cancels ? 'Cancel run' : 'Pause run'}
      cancelLabel={keepLabel(action, run)}
      isDestructive={cancels}
      onConfirm={() => onConfirm(reason.trim())}
      isPending={pending}
      error={error}
    >
      <Stack gap="sm">
        <Text size="sm">
          {cancels
            ? `This ends the run.${interruptionOf(running)} Completed work is kept. No callback is sent.`
            : 'No new steps start until the run is continued. Running steps finish, and their results are kept.'}
        </Text>
        <TextInput
          label="Reason (visible to others)"
          value={reason}
          maxLength={MAX_REASON_LENGTH}
          onChange={(event) => setReason(event.currentTarget.value)}
        />
      </Stack>
    </Confirm>
  );
}

/** Returns the label of the button that changes nothing. */
function keepLabel(action: DialogProps['action'], { state }: Run): string {
  if (action === 'pause') return 'Do not pause';
  return state === 'paused' ? 'Keep paused' : 'Keep running';
}

/** Returns ` The running step fix is interrupted.`; empty if no step is running. */
function interruptionOf(running: readonly string[]): string {
  if (running.length === 0) return '';
  const subject = running.length === 1 ? 'The running step' : 'The running steps';
  return ` ${subject} ${running.join(', ')} ${running.length === 1 ? 'is' : 'are'} interrupted.`;
}
