import { Button, Group } from '@mantine/core';
import { hashKey, useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { Suspense, useEffect, useState } from 'react';
import { isTerminal } from '../../../src/domain/tasks/task-states.ts';
import { useSession } from '../../api/session.ts';
import { IconPlus } from '../../components/icons.tsx';
import { LoadMore } from '../../components/load-more.tsx';
import { Page } from '../../components/page.tsx';
import { ListSkeleton } from '../../components/page-states.tsx';
import { EmptyState, ErrorState } from '../../components/states.tsx';
import { RunFilters } from './filters.tsx';
import { FirstSteps, useFirstSteps } from './first-steps.tsx';
import { RunPanel, SubmitTask } from './parts.ts';
import { refreshRunsQuery, runsQuery, type ListedRun } from './queries.ts';
import { SelectableRuns } from './selectable-runs.tsx';
import { filtersOf, hasFilters, withoutEmpty, type ListFilters, type RunListSearch } from './list-search.ts';

const routeApi = getRouteApi('/signed-in/orchestration');

/** How often the first page of the list is refreshed: with active runs, and without. */
const ACTIVE_REFRESH_MS = 2_000;
const IDLE_REFRESH_MS = 6_000;

/** All runs, newest first; one of them may be open beside the list. */
export function RunList() {
  const search = routeApi.useSearch();
  const navigate = routeApi.useNavigate();
  const { hasScope } = useSession();
  const [submitting, setSubmitting] = useState(false);
  const [runAtStart] = useState(search.run);
  const runs = useRuns(search);
  const steps = useFirstSteps();
  const rows = runs.data ?? [];
  const open = (run: string | undefined) =>
    void navigate({
      search: (before) => withRun(before, run),
      replace: search.run !== undefined,
      resetScroll: false,
    });
  const maySubmit = hasScope('tasks:write');
  const isFormOpen = maySubmit && (submitting || search.submit === 'yes');
  const closeForm = () => {
    setSubmitting(false);
    if (search.submit === undefined) return;
    void navigate({ search: (before) => withoutEmpty({ ...before, submit: undefined }), replace: true });
  };
  const submit = maySubmit ? (
    <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={() => setSubmitting(true)}>
      Submit task
    </Button>
  ) : null;

  // The checklist is above the list, and would move it.
  const isPreparing = steps.isLoading || (steps.done !== undefined && runs.isPending);
  const isListed = !isPreparing && !runs.isPending;
  useEffect(() => {
    if (!isListed) return;
    void RunPanel.preload?.();
    if (maySubmit) void SubmitTask.preload?.();
  }, [isListed, maySubmit]);

  return (
    <Page title="Orchestration" lead="All runs, updated every few seconds" actions={submit} wide>
      {isPreparing ? null : (
        <>
          <FirstSteps
            steps={steps}
            hasRuns={hasFilters(search) || rows.length > 0}
            onSubmit={() => setSubmitting(true)}
          />
          <RunFilters submitters={rows.map((run) => run.created_by)} />
        </>
      )}
      {!isListed ? (
        <ListSkeleton />
      ) : runs.isError && rows.length === 0 ? (
        <ErrorState
          title="The runs could not be loaded"
          error={runs.error}
          onRetry={() => void runs.refetch()}
        />
      ) : rows.length === 0 && runs.hasNextPage ? (
        <ListSkeleton />
      ) : (
        <SelectableRuns
          rows={rows}
          openId={search.run}
          filters={filtersOf(search)}
          onShowNew={(since) => void navigate({ search: withoutEmpty({ by: 'me', since }) })}
          empty={<NoRuns filters={filtersOf(search)} submit={submit} />}
        />
      )}
      {isListed ? <LoadMore key={hashKey(runsQuery(filtersOf(search)).queryKey)} {...runs} /> : null}
      <Suspense fallback={search.run === runAtStart ? <PanelSpace /> : null}>
        {search.run ? (
          <RunPanel
            executionId={search.run}
            onClose={() => open(undefined)}
            onStep={(by) => open(neighbour(rows, search.run, by))}
          />
        ) : null}
        {isFormOpen ? <SubmitTask onClose={closeForm} onWatch={open} /> : null}
      </Suspense>
    </Page>
  );
}

/** Reserves the space of the panel of a run that the address opens, until its code has arrived. */
function PanelSpace() {
  return <div data-side-panel hidden />;
}

/** Returns the runs of all loaded pages. The first page is refreshed every few seconds, further ones less often. */
function useRuns(search: RunListSearch) {
  const client = useQueryClient();
  const filters = filtersOf(search);
  const query = runsQuery(filters);
  const runs = useInfiniteQuery({
    ...query,
    placeholderData: (before) => before,
    refetchInterval: ({ state: { data } }) =>
      hasMorePages(data) ? false : refreshMs(data?.pages.flatMap((page) => page.data)),
  });
  const refetchInterval = refreshMs(runs.data);
  useQuery({
    ...refreshRunsQuery(filters),
    enabled: hasMorePages(client.getQueryData(query.queryKey)),
    staleTime: refetchInterval,
    refetchInterval,
  });
  return runs;
}

function hasMorePages(list: { pages: readonly unknown[] } | undefined): boolean {
  return (list?.pages.length ?? 0) > 1;
}

function refreshMs(rows: readonly ListedRun[] = []): number {
  return rows.some((run) => !isTerminal(run.state)) ? ACTIVE_REFRESH_MS : IDLE_REFRESH_MS;
}

function withRun(search: RunListSearch, run: string | undefined): RunListSearch {
  return { ...filtersOf(search), ...(run && { run }) };
}

/** Returns the run above or below the open one; the open one itself at the ends of the list. */
function neighbour(rows: readonly ListedRun[], id: string | undefined, by: -1 | 1): string | undefined {
  const index = rows.findIndex((run) => run.execution_id === id);
  return rows[index + by]?.execution_id ?? id;
}

function NoRuns({ filters, submit }: { filters: ListFilters; submit: React.ReactNode }) {
  const navigate = routeApi.useNavigate();
  if (hasFilters(filters)) {
    const isOnlyMe = filters.needs !== undefined && Object.keys(filters).length === 1;
    return (
      <EmptyState
        title={isOnlyMe ? 'No runs need you' : 'No matching runs'}
        action={
          <Button variant="default" onClick={() => void navigate({ search: {} })}>
            Show all runs
          </Button>
        }
      >
        {isOnlyMe
          ? 'Shows runs with a question, and escalated runs that were not rerun.'
          : `Change or clear the filters.${filters.text === undefined ? '' : ' Search matches the beginnings of words in titles and metadata, and of IDs.'}`}
      </EmptyState>
    );
  }
  return (
    <EmptyState title="No runs yet" action={<Group>{submit}</Group>} example={example()}>
      Submit a task. Agents work on it. This page shows the progress.
    </EmptyState>
  );
}

function example(): string {
  return [
    `curl ${location.origin}/api/v1/tasks \\`,
    `  -H "X-API-Key: $BATON_API_KEY" -H 'Content-Type: application/json' \\`,
    `  -d '{ "title": "My first task", "project_id": "…" }'`,
  ].join('\n');
}
