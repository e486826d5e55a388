import { Page } from '../../components/page.tsx';

export function SourceAddresses() {
  return <Page title="Source addresses">This screen is being built.</Page>;
}
