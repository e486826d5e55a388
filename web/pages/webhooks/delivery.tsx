import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { isNotFound } from '../../api/problem.ts';
import { Page } from '../../components/page.tsx';
import { ListSkeleton } from '../../components/page-states.tsx';
import { ErrorState } from '../../components/states.tsx';
import { TextLink } from '../../components/text-link.tsx';
import { DeliveryView } from './delivery/delivery-view.tsx';
import { useWebhookRoom } from './parts/live.ts';
import { deliveryQuery, webhookQuery } from './parts/queries.ts';

const routeApi = getRouteApi('/signed-in/settings/integrations/webhooks/$webhookId/deliveries/$deliveryId');

const RENEW_MS = 3_000;

/** One delivery on a separate page. */
export function DeliveryPage() {
  const { webhookId, deliveryId } = routeApi.useParams();
  useWebhookRoom(webhookId);
  const webhook = useQuery({ ...webhookQuery(webhookId), refetchInterval: RENEW_MS });
  const delivery = useQuery({ ...deliveryQuery(deliveryId), refetchInterval: RENEW_MS });
  const current = isNotFound(webhook.error) ? null : webhook.data;
  return (
    <Page
      title={delivery.data ? `${delivery.data.event} delivery` : 'Delivery'}
      lead={
        <TextLink to="/settings/integrations/webhooks/$webhookId" params={{ webhookId }}>
          {webhook.data ? `Webhook “${webhook.data.name}”` : 'Webhook'}
        </TextLink>
      }
      wide
    >
      {delivery.data ? (
        <DeliveryView delivery={delivery.data} webhook={current} />
      ) : delivery.isError ? (
        <ErrorState
          title="The delivery could not be loaded"
          error={delivery.error}
          onRetry={() => void delivery.refetch()}
        />
      ) : (
        <ListSkeleton />
      )}
    </Page>
  );
}
