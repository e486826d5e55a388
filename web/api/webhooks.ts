import { queryOptions } from '@tanstack/react-query';
import { unwrap, api, type Schemas } from './client.ts';
import { fetchAll } from './pages.ts';

export type Webhook = Schemas['Webhook'];

/** All webhooks of the workspace, newest first; there are few. */
export const webhooksQuery = queryOptions({
  queryKey: ['webhooks'],
  queryFn: ({ signal }) =>
    fetchAll<Webhook>((query) => unwrap(api.GET('/api/v1/webhooks', { params: { query }, signal }))),
});
