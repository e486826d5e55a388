import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { unwrap, api } from '../../api/client.ts';
import { Page } from '../../components/page.tsx';
import { ListSkeleton } from '../../components/page-states.tsx';
import { ErrorState } from '../../components/states.tsx';
import { WebhookForm, type SaveRequest } from './form/webhook-form.tsx';
import { refreshWebhook, webhookQuery } from './parts/queries.ts';
import { keepSecret } from './parts/saved-secret.tsx';
import { sendTest } from './test/send-test.ts';

const routeApi = getRouteApi('/signed-in/settings/integrations/webhooks/$webhookId/edit');

/** The page that edits a webhook. Changes apply from the next attempt. */
export function EditWebhook() {
  const { webhookId } = routeApi.useParams();
  const webhook = useQuery(webhookQuery(webhookId));
  const edit = useEdit(webhookId);
  if (webhook.isError) return <ErrorState title="The webhook could not be loaded" error={webhook.error} />;
  return (
    <Page
      title={webhook.data ? `Edit ${webhook.data.name}` : 'Edit webhook'}
      lead="Changes apply from the next attempt. Filters apply to new events only."
      wide
    >
      {webhook.data ? (
        <WebhookForm
          key={webhookId}
          webhook={webhook.data}
          onSave={edit.mutateAsync}
          pending={edit.isPending}
          error={edit.error}
        />
      ) : (
        <ListSkeleton />
      )}
    </Page>
  );
}

function useEdit(webhookId: string) {
  const client = useQueryClient();
  const navigate = useNavigate();
  return useMutation({
    async mutationFn({ body, generated, thenTest }: SaveRequest) {
      const params = { path: { id: webhookId } };
      const webhook = await unwrap(api.PATCH('/api/v1/webhooks/{id}', { params, body }));
      if (generated) keepSecret(client, webhookId, generated);
      const [first] = webhook.events;
      if (thenTest && first) void sendTest(client, webhookId, { event: first.event });
    },
    async onSuccess(_, { thenTest }) {
      await refreshWebhook(client, webhookId);
      await navigate({
        to: '/settings/integrations/webhooks/$webhookId',
        params: { webhookId },
        search: thenTest ? { test: 'yes' } : {},
      });
    },
  });
}
