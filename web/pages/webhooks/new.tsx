import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { unwrap, api } from '../../api/client.ts';
import { useSession } from '../../api/session.ts';
import { Page } from '../../components/page.tsx';
import { EmptyState } from '../../components/states.tsx';
import { WebhookForm, type SaveRequest } from './form/webhook-form.tsx';
import { webhookQuery, webhooksQuery } from './parts/queries.ts';
import { sendTest } from './test/send-test.ts';

/** The page that creates a webhook and optionally sends a test. */
export function NewWebhook() {
  const { hasScope } = useSession();
  const create = useCreate();
  if (!hasScope('webhooks:write')) {
    return (
      <Page title="New webhook">
        <EmptyState title="Missing permission">
          Webhooks send events of the whole workspace, so only admins can create them. Ask an admin.
        </EmptyState>
      </Page>
    );
  }
  return (
    <Page title="New webhook" wide>
      <WebhookForm
        onSave={(request) => create.mutate(request)}
        pending={create.isPending}
        error={create.error}
      />
    </Page>
  );
}

function useCreate() {
  const client = useQueryClient();
  const navigate = useNavigate();
  return useMutation({
    async mutationFn({ body, thenTest }: SaveRequest) {
      const { secret, ...rest } = body;
      const webhook = await unwrap(
        api.POST('/api/v1/webhooks', { body: { ...rest, ...(secret ? { secret } : {}) } }),
      );
      client.setQueryData(webhookQuery(webhook.id).queryKey, webhook);
      void client.invalidateQueries({ queryKey: webhooksQuery.queryKey });
      const [first] = webhook.events;
      // The webhook's page shows the result of the test.
      if (thenTest && first) void sendTest(client, webhook.id, { event: first.event });
      return webhook;
    },
    onSuccess: async ({ id }, { thenTest }) =>
      await navigate({
        to: '/settings/integrations/webhooks/$webhookId',
        params: { webhookId: id },
        search: thenTest ? { test: 'yes' } : {},
      }),
  });
}
