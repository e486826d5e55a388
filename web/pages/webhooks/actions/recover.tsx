import { Button, Checkbox, Group, Stack, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { unwrap, api } from '../../../api/client.ts';
import { errorMessage, ErrorText } from '../../../components/states.tsx';
import { refreshWebhook, type Webhook } from '../parts/queries.ts';
import { plural } from '../parts/health.ts';
import { Dialog } from '../../../components/dialog.tsx';

const HOUR_MS = 3_600_000;
const RECOVERABLE = ['held', 'failed', 'skipped'] as const;
type Recoverable = (typeof RECOVERABLE)[number];

const STATUS_LABELS: Readonly<Record<Recoverable, string>> = {
  held: 'Held while the webhook was disabled',
  failed: 'Failed after all attempts',
  skipped: 'Skipped, but matched by the current filters',
};

const PERIODS = [
  [1, 'Last hour'],
  [24, 'Last 24 hours'],
  [7 * 24, 'Last 7 days'],
  [30 * 24, 'Last 30 days'],
] as const;
const DEFAULT_PERIOD = 7 * 24;

type RecoverProps = { webhook: Webhook; opened: boolean; onClose: () => void };

/** Sends undelivered events in bulk. Shows their number first. */
export function Recover({ webhook, opened, onClose }: RecoverProps) {
  return (
    <Dialog opened={opened} onClose={onClose} title={`Recover deliveries of “${webhook.name}”`} centered>
      {opened ? <RecoverForm webhook={webhook} onClose={onClose} /> : null}
    </Dialog>
  );
}

function RecoverForm({ webhook, onClose }: Omit<RecoverProps, 'opened'>) {
  const [period, setPeriod] = useState<number>(DEFAULT_PERIOD);
  const [openedAt] = useState(Date.now);
  const [statuses, setStatuses] = useState<Recoverable[]>(['held', 'failed']);
  const since = new Date(openedAt - period * HOUR_MS).toISOString();
  const { count, recover } = useRecovery(webhook, { since, statuses }, onClose);
  const isActive = webhook.status === 'active';
  const found = count.data?.count ?? 0;
  return (
    <Stack gap="md">
      <label>
        <Text span size="sm" mr={6}>
          Period
        </Text>
        <select
          className="plain-select"
          value={period}
          onChange={(event) => setPeriod(Number(event.currentTarget.value))}
        >
          {PERIODS.map(([hours, words]) => (
            <option key={hours} value={hours}>
              {words}
            </option>
          ))}
        </select>
      </label>
      <Checkbox.Group
        label="Deliveries"
        value={statuses}
        onChange={(chosen) => setStatuses(RECOVERABLE.filter((status) => chosen.includes(status)))}
      >
        <Stack gap="xs" mt={4}>
          {RECOVERABLE.map((status) => (
            <Checkbox key={status} value={status} label={STATUS_LABELS[status]} />
          ))}
        </Stack>
      </Checkbox.Group>
      <Text aria-live="polite">
        {statuses.length === 0
          ? 'Select at least one option.'
          : count.isError
            ? errorMessage(count.error)
            : count.isPending
              ? 'Counting…'
              : forecast(found)}
      </Text>
      {isActive ? null : (
        <Text size="sm" c="var(--tone-held)">
          The webhook is {webhook.status}. {webhook.status === 'disabled' ? 'Enable' : 'Activate'} it first.
        </Text>
      )}
      <ErrorText error={recover.error} />
      <Group justify="flex-end" gap="xs">
        <Button variant="default" onClick={onClose}>
          Cancel
        </Button>
        <Button
          disabled={!isActive || found === 0 || statuses.length === 0 || count.isPlaceholderData}
          loading={recover.isPending}
          onClick={() => recover.mutate()}
        >
          {found > 0 ? `Send ${plural(found, 'delivery', 'deliveries')}` : 'Send'}
        </Button>
      </Group>
    </Stack>
  );
}

function forecast(found: number): string {
  if (found === 0) return 'No deliveries match.';
  const deliveries = plural(found, 'delivery', 'deliveries');
  return `Baton will send ${deliveries}, increasing the rate gradually. Each delivery gets all its retries again.`;
}

type RecoveryRequest = { since: string; statuses: Recoverable[] };

function useRecovery(webhook: Webhook, request: RecoveryRequest, onDone: () => void) {
  const client = useQueryClient();
  const params = { path: { id: webhook.id } };
  const count = useQuery({
    queryKey: ['webhook', webhook.id, 'recoverable', request],
    queryFn: ({ signal }) =>
      unwrap(
        api.POST('/api/v1/webhooks/{id}/recover', { params, body: { ...request, count_only: true }, signal }),
      ),
    enabled: request.statuses.length > 0,
    placeholderData: (before) => before,
  });
  const recover = useMutation({
    mutationFn: () => unwrap(api.POST('/api/v1/webhooks/{id}/recover', { params, body: request })),
    async onSuccess(done) {
      onDone();
      notifications.show({
        title: `Recovering ${plural(done.count, 'delivery', 'deliveries')}`,
        message: 'They are sent gradually. The log shows each one.',
      });
      await refreshWebhook(client, webhook.id);
    },
  });
  return { count, recover };
}
