import { Button, Group, Modal, Stack, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { MAX_BULK_RUNS } from '../../../src/domain/common/limits.ts';
import { api, unwrap } from '../../api/client.ts';
import { errorMessage } from '../../components/states.tsx';
import { createRequestKeys } from '../../forms/request-key.ts';
import type { BulkAction } from './bulk.ts';
import { parametersOf, type ListFilters } from './list-search.ts';
import { plural } from './words.ts';

type Filter = ReturnType<typeof parametersOf>;

/** Cancels or reruns all runs that match the filters, also those on later pages. Their numbers are shown first. */
export function MatchingDialog({ filters, onClose }: { filters: ListFilters; onClose: () => void }) {
  // A span such as the last hour must mean the same time for the numbers and for the action.
  const [filter] = useState(() => parametersOf(filters));
  const [keyOf] = useState(() => createRequestKeys());
  const queryClient = useQueryClient();
  const counts = useQuery({
    queryKey: ['matching-runs', filter],
    queryFn: async () => ({ cancel: await countOf('cancel', filter), rerun: await countOf('rerun', filter) }),
    gcTime: 0,
  });
  const bulk = useMutation({
    mutationFn: async (action: BulkAction) => {
      const body = { filter };
      const params = { header: { 'Idempotency-Key': keyOf(body) } };
      const { count } = await unwrap(
        action === 'cancel'
          ? api.POST('/api/v1/tasks/cancel', { body })
          : api.POST('/api/v1/tasks/rerun', { body, params }),
      );
      return `${plural(count, 'run')} ${action === 'cancel' ? 'cancelled' : 'started'}`;
    },
    onSettled: () => {
      void queryClient.invalidateQueries({ queryKey: ['runs'] });
      void queryClient.invalidateQueries({ queryKey: ['run'] });
    },
  });
  const error = bulk.error ?? counts.error;
  return (
    <Modal
      opened
      onClose={onClose}
      title={bulk.data ?? 'All runs that match the filters'}
      centered
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <Stack gap="md">
        {bulk.data ? null : <Text size="sm">{explanationOf(counts.data)}</Text>}
        {error ? (
          <Text role="alert" size="sm" c="var(--mantine-color-error)">
            {errorMessage(error)}
          </Text>
        ) : null}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose} data-autofocus>
            Close
          </Button>
          {bulk.data || !counts.data ? null : (
            <Actions
              counts={counts.data}
              isPending={bulk.isPending}
              onAct={(action) => bulk.mutate(action)}
            />
          )}
        </Group>
      </Stack>
    </Modal>
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

async function countOf(action: BulkAction, filter: Filter): Promise<number> {
  const body = { filter, dry_run: true };
  const counted =
    action === 'cancel'
      ? api.POST('/api/v1/tasks/cancel', { body })
      : api.POST('/api/v1/tasks/rerun', { body });
  return (await unwrap(counted)).count;
}
