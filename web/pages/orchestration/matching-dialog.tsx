import { Button, Group, Stack, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { MAX_BULK_RUNS } from '../../../src/domain/common/limits.ts';
import { api, unwrap } from '../../api/client.ts';
import { ErrorText } from '../../components/states.tsx';
import { createRequestKeys } from '../../forms/request-key.ts';
import type { BulkAction } from './bulk.ts';
import { parametersOf, type ListFilters } from './list-search.ts';
import { fetchStartOfNewRuns, invalidateRuns } from './queries.ts';
import { ShowNewRuns } from './show-new-runs.tsx';
import { plural } from './words.ts';
import { Dialog } from '../../components/dialog.tsx';

type Filter = ReturnType<typeof parametersOf>;

type MatchingProps = {
  filters: ListFilters;
  onClose: () => void;
  /** Lists the runs that the user has started since this time; all if it is undefined. */
  onShowNew: (since: string | undefined) => void;
};

/** Cancels or reruns all runs that match the filters, also those on later pages. Their numbers are shown first. */
export function MatchingDialog({ filters, onClose, onShowNew }: MatchingProps) {
  // A span such as the last hour must mean the same time for the numbers and for the action.
  const [filter] = useState(() => parametersOf(filters));
  const [keyOf] = useState(() => createRequestKeys());
  const queryClient = useQueryClient();
  const counts = useQuery({
    queryKey: ['matching-runs', filter],
    queryFn: async () => ({
      cancel: await sendForAll('cancel', { filter, dry_run: true }),
      rerun: await sendForAll('rerun', { filter, dry_run: true }),
    }),
    gcTime: 0,
  });
  const bulk = useMutation({
    mutationFn: async (action: BulkAction) => {
      const body = { filter };
      const since = action === 'cancel' ? undefined : await fetchStartOfNewRuns();
      const count = await sendForAll(action, body, keyOf(body));
      return { since, text: `${plural(count, 'run')} ${action === 'cancel' ? 'cancelled' : 'started'}` };
    },
    onSettled: () => invalidateRuns(queryClient),
  });
  const error = bulk.error ?? counts.error;
  return (
    <Dialog opened onClose={onClose} title={bulk.data?.text ?? 'All matching runs'} centered>
      <Stack gap="md">
        {bulk.data ? null : <Text size="sm">{explanationOf(counts.data)}</Text>}
        <ErrorText error={error} />
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose} data-autofocus>
            Close
          </Button>
          {bulk.data && bulk.variables === 'rerun' ? (
            <ShowNewRuns onClose={onClose} onShowNew={() => onShowNew(bulk.data.since)} />
          ) : null}
          {bulk.data || !counts.data ? null : (
            <Actions
              counts={counts.data}
              isPending={bulk.isPending}
              onAct={(action) => bulk.mutate(action)}
            />
          )}
        </Group>
      </Stack>
    </Dialog>
  );
}

type Counts = Record<BulkAction, number>;
type ActionsProps = { counts: Counts; isPending: boolean; onAct: (action: BulkAction) => void };

function Actions({ counts, isPending, onAct }: ActionsProps) {
  const button = (action: BulkAction, label: string, color: string) => (
    <Button
      color={color}
      disabled={counts[action] === 0 || counts[action] > MAX_BULK_RUNS}
      loading={isPending}
      onClick={() => onAct(action)}
    >
      {label} {plural(counts[action], 'run')}
    </Button>
  );
  return (
    <>
      {button('rerun', 'Rerun', 'brand')}
      {button('cancel', 'Cancel', 'red.8')}
    </>
  );
}

function explanationOf(counts: Counts | undefined): string {
  if (!counts) return 'Counting the runs…';
  const numbers = `${plural(counts.cancel, 'active run')} can be cancelled, ${plural(counts.rerun, 'ended run')} can be rerun.`;
  if (Math.max(counts.cancel, counts.rerun) > MAX_BULK_RUNS) {
    return `${numbers} At most ${MAX_BULK_RUNS.toLocaleString('en')} at once: choose a shorter time in the filters.`;
  }
  return `${numbers} A new run keeps the results of completed steps, and the callback URL and secret of the earlier run.`;
}

/** Returns the number of runs that were changed, or that match. `key` is the idempotency key of a rerun. */
async function sendForAll(
  action: BulkAction,
  body: { filter: Filter; dry_run?: boolean },
  key?: string,
): Promise<number> {
  const params = key === undefined ? {} : { header: { 'Idempotency-Key': key } };
  const { count } = await unwrap(
    action === 'cancel'
      ? api.POST('/api/v1/tasks/cancel', { body })
      : api.POST('/api/v1/tasks/rerun', { body, params }),
  );
  return count;
}
