import { Page } from '../../components/page.tsx';

export function RunPage() {
  return <Page title="Run">This screen is being built.</Page>;
}
