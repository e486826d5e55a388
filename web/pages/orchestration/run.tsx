import { Anchor } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { Page } from '../../components/page.tsx';
import { runQuery } from './queries.ts';
import { RunView } from './run-view.tsx';

const routeApi = getRouteApi('/signed-in/orchestration/$executionId');

/** A run on a separate page. */
export function RunPage() {
  const { executionId } = routeApi.useParams();
  const { data: run } = useQuery(runQuery(executionId));
  const back = (
    <Anchor component={Link} to="/orchestration" size="sm">
      All runs
    </Anchor>
  );
  return (
    <Page title={run?.title ?? 'Run'} lead={back}>
      <RunView key={executionId} executionId={executionId} />
    </Page>
  );
}
