import { queryOptions, type QueryClient } from '@tanstack/react-query';
import { unwrap, api, type Schemas } from '../../../api/client.ts';
import { pagedQuery } from '../../../api/pages.ts';
import { startOfSpan } from '../../../format/spans.ts';
import type { LogSearch } from '../search.ts';

export type { Webhook } from '../../../api/webhooks.ts';
export type Stats = Schemas['WebhookStats'];
export type Delivery = Schemas['ListedDelivery'];
export type DeliveryDetail = Schemas['DeliveryDetail'];
export type Attempt = Schemas['DeliveryAttempt'];

const DELIVERIES_PAGE_SIZE = 50;

/** One webhook. */
export function webhookQuery(id: string) {
  return queryOptions({
    queryKey: ['webhook', id],
    queryFn: ({ signal }) => unwrap(api.GET('/api/v1/webhooks/{id}', { params: { path: { id } }, signal })),
  });
}

/** Fetches the statistics of the last 24 hours. */
export function statsQuery(id: string) {
  return queryOptions({
    queryKey: ['webhook', id, 'stats'],
    queryFn: ({ signal }) =>
      unwrap(api.GET('/api/v1/webhooks/{id}/stats', { params: { path: { id } }, signal })),
    staleTime: 5_000,
  });
}

/** Fetches the log of a webhook by its filters, newest first. */
export function logQuery(webhookId: string, { status, event, span, text }: LogSearch) {
  const key = ['webhook', webhookId, 'deliveries', { status, event, span, text }];
  return pagedQuery<Delivery>(key, async (cursor, signal) => {
    const query = {
      limit: DELIVERIES_PAGE_SIZE,
      ...(status && { status }),
      ...(event && { event }),
      ...(text && { text }),
      ...(span && { created_after: startOfSpan(span) }),
      ...(cursor && { cursor }),
    };
    const params = { path: { id: webhookId }, query };
    return await unwrap(api.GET('/api/v1/webhooks/{id}/deliveries', { params, signal }));
  });
}

/** One delivery with its attempts. */
export function deliveryQuery(id: string) {
  return queryOptions({
    queryKey: ['delivery', id],
    queryFn: ({ signal }) => unwrap(api.GET('/api/v1/deliveries/{id}', { params: { path: { id } }, signal })),
  });
}

/** Fetches the values of recent events, as suggestions for filters. */
export const filterValuesQuery = queryOptions({
  queryKey: ['filter-values'],
  queryFn: ({ signal }) => unwrap(api.GET('/api/v1/filter-values', { signal })),
  staleTime: 30_000,
});

/** Invalidates all queries that show a webhook, after a change of it. */
export async function refreshWebhook(client: QueryClient, id: string): Promise<void> {
  await Promise.all([
    client.invalidateQueries({ queryKey: ['webhook', id] }),
    client.invalidateQueries({ queryKey: ['webhooks'] }),
    client.invalidateQueries({ queryKey: ['delivery'] }),
  ]);
}
