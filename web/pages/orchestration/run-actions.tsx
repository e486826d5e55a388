import { Button, Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { MAX_REASON_LENGTH } from '../../../src/domain/common/limits.ts';
import { isTerminal } from '../../../src/domain/tasks/task-states.ts';
import { useSession } from '../../api/session.ts';
import { Confirm } from '../../components/confirm.tsx';
import type { Run } from './queries.ts';
import { RunAgain } from './run-again.tsx';
import { useSteer, type Steering } from './use-steer.ts';

/** Pause, continue and cancel, for who may. */
export function RunActions({ run }: { run: Run }) {
  const { may } = useSession();
  const [asking, setAsking] = useState<'pause' | 'cancel' | null>(null);
  const steer = useSteer(run.execution_id, () => setAsking(null));
  if (!may('tasks:write')) return null;
  if (isTerminal(run.state)) return <RunAgain run={run} />;
  const pending = (steering: Steering) => steer.isPending && steer.variables.steering === steering;
  return (
    <>
      {run.question ? null : run.state === 'paused' ? (
        <Button
          size="xs"
          onClick={() => steer.mutate({ steering: 'continue' })}
          loading={pending('continue')}
        >
          Continue
        </Button>
      ) : (
        <Button size="xs" variant="default" onClick={() => setAsking('pause')}>
          Pause…
        </Button>
      )}
      <Button size="xs" variant="default" onClick={() => setAsking('cancel')}>
        Cancel…
      </Button>
      {asking ? (
        <AskForReason
          key={asking}
          steering={asking}
          run={run}
          onClose={() => {
            setAsking(null);
            steer.reset();
          }}
          onAct={(reason) => steer.mutate({ steering: asking, reason })}
          pending={steer.isPending}
          error={steer.error}
        />
      ) : null}
    </>
  );
}

type AskProps = {
  steering: 'pause' | 'cancel';
  run: Run;
  onClose: () => void;
  onAct: (reason: string) => void;
  pending: boolean;
  error: unknown;
};

function AskForReason({ steering, run, onClose, onAct, pending, error }: AskProps) {
  const [reason, setReason] = useState('');
  const cancels = steering === 'cancel';
  const running = run.steps.filter((step) => step.status === 'running').map((step) => step.name);
  return (
    <Confirm
      opened
      onClose={onClose}
      title={cancels ? `Cancel “${run.title}”?` : `Pause “${run.title}”?`}
      act={cancels ? 'Cancel run' : 'Pause run'}
      cancelLabel="Keep running"
      destroys={cancels}
      onAct={() => onAct(reason.trim())}
      pending={pending}
      error={error}
    >
      <Stack gap="sm">
        <Text size="sm">
          {cancels
            ? `The run ends permanently.${running.length > 0 ? ` It stops during ${running.join(', ')}.` : ''} Completed work is kept. No callback is sent.`
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
