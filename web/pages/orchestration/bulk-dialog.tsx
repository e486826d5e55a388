import { Button, Group, List, Stack, Text } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { unwrap, api } from '../../api/client.ts';
import { Confirm } from '../../components/confirm.tsx';
import { ShownOnce } from '../../components/shown-once.tsx';
import { errorMessage } from '../../components/states.tsx';
import { doForAll, type BulkAction, type BulkResult } from './bulk.ts';
import { fetchStartOfNewRuns, invalidateRuns, type ListedRun } from './queries.ts';
import { ShowNewRuns } from './show-new-runs.tsx';
import { plural } from './words.ts';
import { Dialog } from '../../components/dialog.tsx';

/** The callback secret of a new run; null if nothing was started, or the run has no callback. */
type Secret = { execution_id: string; callback_secret: string } | null;
type Result = BulkResult<ListedRun, Secret>;

type DialogProps = {
  action: BulkAction;
  /** The runs that the action is possible for. */
  runs: readonly ListedRun[];
  /** How many of the selected runs are left out. */
  others: number;
  /** Called if nothing was done. */
  onClose: () => void;
  onDone: () => void;
  /** Lists the runs that the user has started since this time; all if it is undefined. */
  onShowNew: (since: string | undefined) => void;
};

/** Asks once before many runs are cancelled or rerun, then shows what failed. */
export function BulkDialog({ action, runs, others, onClose, onDone, onShowNew }: DialogProps) {
  const [done, setDone] = useState(0);
  const queryClient = useQueryClient();
  const bulk = useMutation({
    mutationFn: async () => {
      const since = action === 'cancel' ? undefined : await fetchStartOfNewRuns();
      return { since, results: await doForAll(runs, action === 'cancel' ? cancel : rerun, setDone) };
    },
    onSettled: () => invalidateRuns(queryClient),
  });
  if (bulk.data) {
    const { since, results } = bulk.data;
    return <Results action={action} results={results} onClose={onDone} onShowNew={() => onShowNew(since)} />;
  }
  const count = plural(runs.length, 'run');
  return (
    <Confirm
      opened
      onClose={onClose}
      title={action === 'cancel' ? `Cancel ${count}?` : `Rerun ${count}?`}
      confirmLabel={action === 'cancel' ? `Cancel ${count}` : `Rerun ${count}`}
      cancelLabel={action === 'cancel' ? 'Keep running' : 'Cancel'}
      isDestructive={action === 'cancel'}
      onConfirm={() => bulk.mutate()}
      isPending={bulk.isPending}
      error={bulk.error}
    >
      <Stack gap="sm">
        <Text size="sm">
          {action === 'cancel'
            ? 'This ends the runs. They cannot be continued, only rerun.'
            : 'Starts a new run for each. A new run repeats the incomplete steps and keeps the results of the others. Its result is sent to the same callback URL.'}
        </Text>
        {others > 0 ? <Text size="sm">{leftOutText(action, others)}</Text> : null}
        <Text size="sm" role="status">
          {bulk.isPending ? `${done} of ${runs.length} done` : ''}
        </Text>
      </Stack>
    </Confirm>
  );
}

async function cancel({ execution_id }: ListedRun): Promise<Secret> {
  const params = { path: { execution_id } };
  await unwrap(api.POST('/api/v1/tasks/{execution_id}/cancel', { params, body: {} }));
  return null;
}

async function rerun({ execution_id, callback }: ListedRun): Promise<Secret> {
  const params = { path: { execution_id } };
  const created = await unwrap(api.POST('/api/v1/tasks/{execution_id}/rerun', { params, body: {} }));
  return callback.url === null ? null : created;
}

function leftOutText(action: BulkAction, others: number): string {
  const them = `${plural(others, 'selected run')} ${others === 1 ? 'is' : 'are'} left out`;
  return action === 'cancel' ? `${them}: already ended.` : `${them}: not ended yet.`;
}

type ResultsProps = {
  action: BulkAction;
  results: readonly Result[];
  onClose: () => void;
  onShowNew: () => void;
};

function Results({ action, results, onClose, onShowNew }: ResultsProps) {
  const failed = results.filter((result) => 'error' in result);
  const secrets = results.flatMap((result) => ('value' in result && result.value ? [result.value] : []));
  const count = results.length - failed.length;
  const what = action === 'cancel' ? 'cancelled' : 'started';
  return (
    <Dialog
      opened
      onClose={onClose}
      title={`${plural(count, 'run')} ${what}`}
      centered
      // What is shown only once must not disappear by a click beside it.
      closeOnClickOutside={secrets.length === 0}
    >
      <Stack gap="md">
        {failed.length > 0 ? (
          <div role="alert">
            <Text fw={600}>{plural(failed.length, 'run')} failed</Text>
            <List size="sm">
              {failed.map(({ item, error }) => (
                <List.Item key={item.execution_id}>
                  <b>{item.title}</b>: {errorMessage(error)}
                </List.Item>
              ))}
            </List>
          </div>
        ) : null}
        {secrets.length > 0 ? (
          <ShownOnce
            value={secrets.map((one) => `${one.execution_id} ${one.callback_secret}`).join('\n')}
            label="Callback secrets"
          >
            Copy the callback secrets of the new runs now, each with the ID of its run. They are shown only
            once.
          </ShownOnce>
        ) : null}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            Close
          </Button>
          {action === 'rerun' && count > 0 ? <ShowNewRuns onClose={onClose} onShowNew={onShowNew} /> : null}
        </Group>
      </Stack>
    </Dialog>
  );
}
