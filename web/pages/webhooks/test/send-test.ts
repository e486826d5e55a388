import { skipToken, type QueryClient } from '@tanstack/react-query';
import type { EventKind } from '../../../../src/domain/webhooks/event-kinds.ts';
import { unwrap, api, type Schemas } from '../../../api/client.ts';
import { refreshWebhook } from '../parts/queries.ts';

/** A test of a webhook and its result. */
export type TestState =
  | { state: 'sending'; event: EventKind }
  | { state: 'answered'; event: EventKind; attempt: Schemas['TestAttempt'] }
  | { state: 'not sent'; event: EventKind; error: unknown };

export type TestRequest = { event: EventKind; data?: Record<string, unknown>; draft?: string };

/** The last test of a webhook on this screen. Nothing fetches it: {@link sendTest} puts it there. */
export function lastTestQuery(webhookId: string) {
  return {
    queryKey: ['webhook-test', webhookId],
    queryFn: skipToken,
    staleTime: Infinity,
  } as const;
}

/** Sends a test. Its result is stored in the cache, where the webhook's page reads it. Never rejects. */
export async function sendTest(client: QueryClient, webhookId: string, request: TestRequest): Promise<void> {
  const { queryKey } = lastTestQuery(webhookId);
  const { event } = request;
  const show = (state: TestState) => client.setQueryData(queryKey, state);
  show({ state: 'sending', event });
  try {
    const params = { path: { id: webhookId } };
    const attempt = await unwrap(
      api.POST('/api/v1/webhooks/{id}/test', { params, body: request as Schemas['TestDelivery'] }),
    );
    show({ state: 'answered', event, attempt });
  } catch (error) {
    show({ state: 'not sent', event, error });
  }
  await client.invalidateQueries({ queryKey: ['test-draft', webhookId] });
  await refreshWebhook(client, webhookId);
}
