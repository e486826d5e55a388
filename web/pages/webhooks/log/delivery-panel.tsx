import { useQuery } from '@tanstack/react-query';
import { ListSkeleton } from '../../../components/page-states.tsx';
import { SidePanel } from '../../../components/side-panel.tsx';
import { ErrorState } from '../../../components/states.tsx';
import { DeliveryView } from '../delivery/delivery-view.tsx';
import { deliveryQuery, type Webhook } from '../parts/queries.ts';

const RENEW_MS = 3_000;

type PanelProps = { webhook: Webhook; deliveryId: string; onClose: () => void; onStep: (by: -1 | 1) => void };

/** One delivery beside the log. */
export function DeliveryPanel({ webhook, deliveryId, onClose, onStep }: PanelProps) {
  const delivery = useQuery({ ...deliveryQuery(deliveryId), refetchInterval: RENEW_MS });
  return (
    <SidePanel
      title={delivery.data?.event ?? 'Delivery'}
      label="Delivery"
      row={`[data-delivery="${CSS.escape(deliveryId)}"]`}
      onClose={onClose}
      onStep={onStep}
      page={{
        to: '/settings/integrations/webhooks/$webhookId/deliveries/$deliveryId',
        params: { webhookId: webhook.id, deliveryId },
      }}
    >
      {delivery.data ? (
        <DeliveryView key={deliveryId} delivery={delivery.data} webhook={webhook} />
      ) : delivery.isError ? (
        <ErrorState
          title="The delivery could not be loaded"
          error={delivery.error}
          onRetry={() => void delivery.refetch()}
        />
      ) : (
        <ListSkeleton />
      )}
    </SidePanel>
  );
}
