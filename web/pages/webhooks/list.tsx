import { Page } from '../../components/page.tsx';

export function WebhookList() {
  return <Page title="Webhooks">This screen is being built.</Page>;
}
