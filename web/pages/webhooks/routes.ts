import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { prefetch, prefetchList } from '../../api/prefetch.ts';
import { webhooksQuery } from '../../api/webhooks.ts';
import { signedInRoute } from '../../shell/signed-in-route.ts';
import { deliveryQuery, logQuery, statsQuery, webhookQuery } from './parts/queries.ts';
import { listSearchOf, logSearchOf } from './search.ts';

const listRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/settings/integrations/webhooks',
  validateSearch: listSearchOf,
  loader: ({ context: { queryClient } }) => prefetch(queryClient, webhooksQuery),
  component: lazyRouteComponent(() => import('./list.tsx'), 'WebhookList'),
});

const newRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/settings/integrations/webhooks/new',
  component: lazyRouteComponent(() => import('./new.tsx'), 'NewWebhook'),
});

const webhookRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/settings/integrations/webhooks/$webhookId',
  validateSearch: logSearchOf,
  loaderDeps: ({ search }) => search,
  loader({ context: { queryClient }, params: { webhookId }, deps: { delivery, ...filters } }) {
    prefetch(queryClient, webhookQuery(webhookId));
    prefetch(queryClient, statsQuery(webhookId));
    prefetchList(queryClient, logQuery(webhookId, filters));
    if (delivery !== undefined) prefetch(queryClient, deliveryQuery(delivery));
  },
  component: lazyRouteComponent(() => import('./webhook.tsx'), 'WebhookPage'),
});

const editRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/settings/integrations/webhooks/$webhookId/edit',
  loader: ({ context: { queryClient }, params: { webhookId } }) =>
    prefetch(queryClient, webhookQuery(webhookId)),
  component: lazyRouteComponent(() => import('./edit.tsx'), 'EditWebhook'),
});

const deliveryRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/settings/integrations/webhooks/$webhookId/deliveries/$deliveryId',
  loader({ context: { queryClient }, params: { webhookId, deliveryId } }) {
    prefetch(queryClient, webhookQuery(webhookId));
    prefetch(queryClient, deliveryQuery(deliveryId));
  },
  component: lazyRouteComponent(() => import('./delivery.tsx'), 'DeliveryPage'),
});

export const webhookRoutes = [listRoute, newRoute, webhookRoute, editRoute, deliveryRoute] as const;
