import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { unwrap, api } from '../../api/client.ts';
import { useSession } from '../../api/session.ts';
import { Page } from '../../components/page.tsx';
import { EmptyState } from '../../components/states.tsx';
import { createRequestKeys } from '../../forms/request-key.ts';
import { WebhookForm, type SaveRequest } from './form/webhook-form.tsx';
import { webhooksQuery } from '../../api/webhooks.ts';
import { webhookQuery } from './parts/queries.ts';
import { keepSecret } from './parts/saved-secret.tsx';
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
      <WebhookForm onSave={create.mutateAsync} pending={create.isPending} error={create.error} />
    </Page>
  );
}

function useCreate() {
  const client = useQueryClient();
  const navigate = useNavigate();
  const [keyOf] = useState(() => createRequestKeys());
  return useMutation({
    async mutationFn({ body: { secret, ...rest }, generated, thenTest }: SaveRequest) {
      const body = { ...rest, ...(secret ? { secret } : {}) };
      const params = { header: { 'Idempotency-Key': keyOf(body) } };
      const webhook = await unwrap(api.POST('/api/v1/webhooks', { params, body }));
      if (generated) keepSecret(client, webhook.id, generated);
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
