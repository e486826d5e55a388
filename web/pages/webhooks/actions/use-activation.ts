import { notifications } from '@mantine/notifications';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { unwrap, api } from '../../../api/client.ts';
import { errorMessage } from '../../../components/states.tsx';
import { refreshWebhook } from '../parts/queries.ts';

/** Activates or deactivates a webhook. Activating also re-enables a disabled one. */
export function useActivation(webhookId: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (active: boolean) =>
      unwrap(api.PATCH('/api/v1/webhooks/{id}', { params: { path: { id: webhookId } }, body: { active } })),
    onSuccess: async () => await refreshWebhook(client, webhookId),
    onError: (error) =>
      notifications.show({
        color: 'red',
        title: 'The webhook could not be changed',
        message: errorMessage(error),
      }),
  });
}
