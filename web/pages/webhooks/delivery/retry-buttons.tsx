import { Button, Group, Popover, Stack, Text, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { unwrap, api } from '../../../api/client.ts';
import { IconClock, IconRefresh } from '../../../components/icons.tsx';
import { errorMessage } from '../../../components/states.tsx';
import { RelativeTime } from '../../../components/time.tsx';
import { retryMessage } from '../parts/attempt-text.ts';
import { refreshWebhook, type DeliveryDetail, type Webhook } from '../parts/queries.ts';

const MINUTE_MS = 60_000;
const DELAYS = [
  [5, 'Retry in 5 min'],
  [60, 'Retry in 1 h'],
  [24 * 60, 'Retry in 24 h'],
] as const;

type RetryProps = { delivery: DeliveryDetail; webhook: Webhook | null | undefined };

/** Starts or schedules one more attempt. Shows why if that is impossible. */
export function RetryButtons({ delivery, webhook }: RetryProps) {
  const retry = useRetry(delivery);
  const blockedReason = blockedReasonOf(delivery, webhook);
  if (delivery.test || delivery.status === 'cancelled') return null;
  return (
    <Stack gap={4}>
      <Group gap="xs">
        <Button
          size="xs"
          variant={delivery.status === 'succeeded' ? 'default' : 'filled'}
          leftSection={<IconRefresh size={14} aria-hidden />}
          disabled={blockedReason !== null}
          loading={retry.isPending}
          onClick={() => retry.mutate({ at: undefined, attempts: delivery.attempts_count })}
        >
          Retry now
        </Button>
        <Schedule
          disabled={blockedReason !== null}
          onSchedule={(at) => retry.mutate({ at, attempts: delivery.attempts_count })}
        />
      </Group>
      {delivery.scheduled_at ? <ScheduledRetry delivery={delivery} at={delivery.scheduled_at} /> : null}
      {blockedReason ? (
        <Text size="sm" c="dimmed">
          {blockedReason}
        </Text>
      ) : null}
      <Text size="sm" aria-live="polite" c={retry.isError ? 'var(--mantine-color-error)' : 'dimmed'}>
        {retry.isError
          ? errorMessage(retry.error)
          : retry.isSuccess
            ? retryMessage(retry.variables, delivery)
            : ''}
      </Text>
    </Stack>
  );
}

function blockedReasonOf(delivery: DeliveryDetail, webhook: RetryProps['webhook']): string | null {
  if (webhook === undefined) return '';
  if (webhook === null) return 'The webhook was deleted.';
  if (webhook.status === 'disabled') return 'The webhook is disabled. Enable it first.';
  if (webhook.status === 'inactive') return 'The webhook is inactive. Activate it first.';
  if (delivery.status === 'pending') return 'The delivery is already being sent.';
  return null;
}

/** Shows when the scheduled retry is due, and cancels it. */
function ScheduledRetry({
  delivery: { id, webhook_id: webhookId },
  at,
}: {
  delivery: DeliveryDetail;
  at: string;
}) {
  const client = useQueryClient();
  const cancel = useMutation({
    mutationFn: () => unwrap(api.DELETE('/api/v1/deliveries/{id}/retry', { params: { path: { id } } })),
    onSettled: async () => await refreshWebhook(client, webhookId),
  });
  return (
    <Group gap="xs">
      <Text size="sm">
        Retry scheduled <RelativeTime at={at} isAhead />
      </Text>
      <Button size="compact-xs" variant="default" loading={cancel.isPending} onClick={() => cancel.mutate()}>
        Cancel retry
      </Button>
      {cancel.isError ? (
        <Text size="sm" aria-live="polite" c="var(--mantine-color-error)">
          {errorMessage(cancel.error)}
        </Text>
      ) : null}
    </Group>
  );
}

function useRetry({ id, webhook_id: webhookId }: DeliveryDetail) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ at }: { at: Date | undefined; attempts: number }) =>
      unwrap(
        api.POST('/api/v1/deliveries/{id}/retry', {
          params: { path: { id } },
          body: at ? { at: at.toISOString() } : {},
        }),
      ),
    onSuccess: async () => await refreshWebhook(client, webhookId),
  });
}

function Schedule({ disabled, onSchedule }: { disabled: boolean; onSchedule: (at: Date) => void }) {
  const [opened, setOpened] = useState(false);
  const [given, setGiven] = useState('');
  const at = given === '' ? null : new Date(given);
  const plan = (time: Date) => {
    setOpened(false);
    onSchedule(time);
  };
  return (
    <Popover opened={opened} onChange={setOpened} trapFocus returnFocus position="bottom-start" shadow="md">
      <Popover.Target>
        <Button
          size="xs"
          variant="default"
          disabled={disabled}
          leftSection={<IconClock size={14} aria-hidden />}
          onClick={() => setOpened(!opened)}
        >
          Schedule…
        </Button>
      </Popover.Target>
      <Popover.Dropdown aria-label="Schedule an attempt">
        <Stack gap="xs">
          <Group gap="xs">
            {DELAYS.map(([minutes, words]) => (
              <Button
                key={minutes}
                size="xs"
                variant="light"
                onClick={() => plan(new Date(Date.now() + minutes * MINUTE_MS))}
              >
                {words}
              </Button>
            ))}
          </Group>
          <TextInput
            type="datetime-local"
            label="Time"
            description="In your time zone, at most 30 days ahead"
            value={given}
            onChange={(event) => setGiven(event.currentTarget.value)}
          />
          <Button size="xs" disabled={at === null} onClick={() => at && plan(at)}>
            Schedule
          </Button>
        </Stack>
      </Popover.Dropdown>
    </Popover>
  );
}
