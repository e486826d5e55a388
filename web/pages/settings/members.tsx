import { Page } from '../../components/page.tsx';

export function Members() {
  return <Page title="Members">This screen is being built.</Page>;
}
