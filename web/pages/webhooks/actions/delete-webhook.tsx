import { Stack, Text } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { unwrap, api } from '../../../api/client.ts';
import { Confirm } from '../../../components/confirm.tsx';
import { webhooksQuery, type Webhook } from '../../../api/webhooks.ts';
import type { Stats } from '../parts/queries.ts';
import { plural } from '../parts/health.ts';

type DeleteProps = { webhook: Webhook; stats: Stats | undefined; opened: boolean; onClose: () => void };

/** Confirms the deletion of a webhook and names what is cancelled and deleted. */
export function DeleteWebhook({ webhook, stats, opened, onClose }: DeleteProps) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const remove = useMutation({
    mutationFn: () => unwrap(api.DELETE('/api/v1/webhooks/{id}', { params: { path: { id: webhook.id } } })),
    async onSuccess() {
      await navigate({ to: '/settings/integrations/webhooks' });
      client.removeQueries({ queryKey: ['webhook', webhook.id] });
      await client.invalidateQueries({ queryKey: webhooksQuery.queryKey });
    },
  });
  return (
    <Confirm
      opened={opened}
      onClose={onClose}
      title={`Delete “${webhook.name}”?`}
      confirmLabel="Delete webhook"
      isDestructive
      isPending={remove.isPending}
      error={remove.error}
      onConfirm={() => remove.mutate()}
    >
      <Stack gap="xs">
        <Text>{lossOf(webhook, stats)}</Text>
        <Text>The delivery log is kept for its retention period.</Text>
      </Stack>
    </Confirm>
  );
}

function lossOf({ has_secret: hasSecret }: Webhook, stats: Stats | undefined): string {
  const held = stats?.held ?? 0;
  const cancelled = [
    ...(held > 0 ? [plural(held, 'held delivery', 'held deliveries')] : []),
    ...(stats?.next_attempt_at ? ['the scheduled retries'] : []),
  ];
  const effects = [
    ...(cancelled.length > 0 ? [`cancels ${cancelled.join(' and ')}`] : []),
    ...(hasSecret ? ['permanently deletes the secret'] : []),
  ];
  if (effects.length === 0) return 'No more events will be sent to this endpoint.';
  return `This ${effects.join(', and ')}.`;
}
