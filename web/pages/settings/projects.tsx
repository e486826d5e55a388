import { Page } from '../../components/page.tsx';

export function Projects() {
  return <Page title="Projects">This screen is being built.</Page>;
}
