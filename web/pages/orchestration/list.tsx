import { Page } from '../../components/page.tsx';

export function RunList() {
  return <Page title="Orchestration">This screen is being built.</Page>;
}
