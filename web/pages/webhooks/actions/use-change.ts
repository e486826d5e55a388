import { notifications } from '@mantine/notifications';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { answered, api } from '../../../api/client.ts';
import { sentenceOf } from '../../../components/states.tsx';
import { renewWebhook } from '../parts/queries.ts';

/** Switches a webhook on, which also re-enables one that failures disabled, or off. */
export function useSwitch(webhookId: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (active: boolean) =>
      answered(api.PATCH('/api/v1/webhooks/{id}', { params: { path: { id: webhookId } }, body: { active } })),
    onSuccess: async () => await renewWebhook(client, webhookId),
    onError: (error) =>
      notifications.show({
        color: 'red',
        title: 'The webhook could not be changed',
        message: sentenceOf(error),
      }),
  });
}
