import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { signedInRoute } from '../../shell/signed-in-route.ts';
import { listSearchOf, logSearchOf } from './search.ts';

const listRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/settings/integrations/webhooks',
  validateSearch: listSearchOf,
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
  component: lazyRouteComponent(() => import('./webhook.tsx'), 'WebhookPage'),
});

const editRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/settings/integrations/webhooks/$webhookId/edit',
  component: lazyRouteComponent(() => import('./edit.tsx'), 'EditWebhook'),
});

const deliveryRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/settings/integrations/webhooks/$webhookId/deliveries/$deliveryId',
  component: lazyRouteComponent(() => import('./delivery.tsx'), 'DeliveryPage'),
});

export const webhookRoutes = [listRoute, newRoute, webhookRoute, editRoute, deliveryRoute] as const;
