import { Page } from '../../components/page.tsx';

export function NewWebhook() {
  return <Page title="New webhook">This screen is being built.</Page>;
}
