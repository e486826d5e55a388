import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { signedInRoute } from '../../app/signed-in-route.ts';

const listRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/settings/integrations/webhooks',
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
  component: lazyRouteComponent(() => import('./webhook.tsx'), 'WebhookPage'),
});

const deliveryRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/settings/integrations/webhooks/$webhookId/deliveries/$deliveryId',
  component: lazyRouteComponent(() => import('./delivery.tsx'), 'DeliveryPage'),
});

export const webhookRoutes = [listRoute, newRoute, webhookRoute, deliveryRoute] as const;
