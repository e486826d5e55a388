import { Page } from '../../components/page.tsx';

export function DeliveryPage() {
  return <Page title="Delivery">This screen is being built.</Page>;
}
