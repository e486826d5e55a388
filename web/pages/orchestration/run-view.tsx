import { Skeleton, Stack } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { isTerminal } from '../../../src/domain/tasks/task-states.ts';
import { useFeed } from '../../live/use-feed.ts';
import { ErrorState } from '../../components/states.tsx';
import { Waiting } from '../../components/waiting.tsx';
import { Panel } from '../../components/panel.tsx';
import { callbacksQuery, isOver, runQuery, type Run } from './queries.ts';
import { RunBanner } from './run-banner.tsx';
import { RunHead } from './run-head.tsx';
import { RunTabs } from './run-tabs.tsx';
import classes from './run-view.module.css';
import { RunTimeline } from './timeline.tsx';

/** The run is refetched at most this often. */
const MIN_REFRESH_INTERVAL_MS = 250;
/** Interval of the refresh that finds changes which are not in the feed. */
const REFRESH_MS = 5_000;

/** Everything about one run, live. */
export function RunView({ executionId }: { executionId: string }) {
  const query = useQuery({
    ...runQuery(executionId),
    refetchInterval: ({ state: { data } }) => (data && isOver(data) ? false : REFRESH_MS),
  });
  if (query.data) return <LiveRun run={query.data} />;
  if (query.isError) {
    return (
      <ErrorState
        title="The run could not be loaded"
        error={query.error}
        onRetry={() => void query.refetch()}
      />
    );
  }
  return (
    <Waiting>
      <Stack>
        <Skeleton height={72} radius="md" />
        <Skeleton height={220} radius="md" />
        <Skeleton height={160} radius="md" />
      </Stack>
    </Waiting>
  );
}

function LiveRun({ run }: { run: Run }) {
  const refresh = useRefresh(run.execution_id);
  const feed = useFeed(
    { executionId: run.execution_id, projectId: run.project_id, isOver: isOver(run) },
    refresh,
  );
  return (
    <Stack gap="md" className={classes['run']}>
      <RunBanner run={run} events={feed.events} />
      <RunHead run={run} live={isTerminal(run.state) ? null : feed.status} />
      <Panel title="Steps" className={classes['steps']}>
        <RunTimeline run={run} events={feed.events} />
      </Panel>
      <RunTabs run={run} events={feed.events} />
    </Stack>
  );
}

/** Returns a function that refetches the run, immediately if the last refetch is long enough ago. */
function useRefresh(executionId: string): () => void {
  const queryClient = useQueryClient();
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const last = useRef(0);
  useEffect(() => () => clearTimeout(timer.current), []);
  return () => {
    if (timer.current !== undefined) return;
    const wait = Math.max(0, last.current + MIN_REFRESH_INTERVAL_MS - Date.now());
    timer.current = setTimeout(() => {
      timer.current = undefined;
      last.current = Date.now();
      void queryClient.invalidateQueries({ queryKey: runQuery(executionId).queryKey, exact: true });
      void queryClient.invalidateQueries({ queryKey: callbacksQuery(executionId).queryKey });
    }, wait);
  };
}
