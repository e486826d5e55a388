import { queryOptions, type QueryClient } from '@tanstack/react-query';
import { isTerminal } from '../../../src/domain/tasks/task-states.ts';
import { unwrap, api, type Schemas } from '../../api/client.ts';
import { pagedQuery } from '../../api/pages.ts';
import { parametersOf, type ListFilters } from './list-search.ts';
import { withNewest } from './newest.ts';

export type ListedRun = Schemas['TaskListed'];
export type Run = Schemas['TaskDetail'];
export type Step = Schemas['Step'];

const PAGE_SIZE = 50;

/** Runs by the filters of the address, newest first. */
export function runsQuery(filters: ListFilters) {
  return pagedQuery<ListedRun>(['runs', filters], (cursor, signal) => fetchRuns(filters, cursor, signal));
}

/**
 * Refreshes {@link runsQuery} in the cache, for a list of which more pages are loaded: its first page, and in every n-th turn all
 * n pages. So each turn makes one request on average. The data is the number of the turn.
 */
export function refreshRunsQuery(filters: ListFilters) {
  const { queryKey: list } = runsQuery(filters);
  const queryKey = ['runs', filters, 'refresh'];
  return queryOptions({
    queryKey,
    async queryFn({ client, signal }) {
      const turn = (client.getQueryData<number>(queryKey) ?? 0) + 1;
      // A fetch of the list replaces everything that is written before its end.
      const isIdle = () => client.getQueryState(list)?.fetchStatus === 'idle';
      if (!isIdle()) return turn;
      const pages = client.getQueryData(list)?.pages.length ?? 1;
      if (turn % pages === 0) {
        await client.refetchQueries({ queryKey: list, exact: true });
        return turn;
      }
      const newest = await fetchRuns(filters, undefined, signal);
      if (isIdle()) client.setQueryData(list, (known) => known && withNewest(known, newest));
      return turn;
    },
  });
}

async function fetchRuns(filters: ListFilters, cursor: string | undefined, signal: AbortSignal) {
  const query = { limit: PAGE_SIZE, ...parametersOf(filters), ...(cursor && { cursor }) };
  return await unwrap(api.GET('/api/v1/tasks', { params: { query }, signal }));
}

/**
 * Returns a time after the newest run of the user, by the clock of the server: since then, the user's runs are those that are
 * started next. undefined: the user has no runs.
 */
export async function fetchStartOfNewRuns(): Promise<string | undefined> {
  const query = { created_by: 'me', limit: 1 };
  const { data } = await unwrap(api.GET('/api/v1/tasks', { params: { query } }));
  return data[0] && new Date(Date.parse(data[0].created_at) + 1).toISOString();
}

/** Refetches all lists of runs, and the runs that are shown. */
export function invalidateRuns(client: QueryClient): void {
  void client.invalidateQueries({ queryKey: ['runs'] });
  void client.invalidateQueries({ queryKey: ['run'] });
}

/** One run in full. */
export function runQuery(executionId: string) {
  return queryOptions({
    queryKey: ['run', executionId],
    queryFn: ({ signal }) =>
      unwrap(
        api.GET('/api/v1/tasks/{execution_id}', { params: { path: { execution_id: executionId } }, signal }),
      ),
  });
}

/** Fetches every attempt of the callback of a run with its request and response. */
export function callbacksQuery(executionId: string) {
  return queryOptions({
    queryKey: ['run', executionId, 'callbacks'],
    queryFn: ({ signal }) =>
      unwrap(
        api.GET('/api/v1/tasks/{execution_id}/callbacks', {
          params: { path: { execution_id: executionId } },
          signal,
        }),
      ),
  });
}

/** How often documents and calls are refreshed while a run is active. */
export const REFRESH_MS = 3_000;

/** Fetches the documents of a run. */
export function artifactsQuery(executionId: string) {
  return queryOptions({
    queryKey: ['run', executionId, 'artifacts'],
    queryFn: ({ signal }) =>
      unwrap(
        api.GET('/api/v1/tasks/{execution_id}/artifacts', {
          params: { path: { execution_id: executionId } },
          signal,
        }),
      ),
  });
}

/** The calls of models and tools of a run, in the order they began. */
export function callsQuery(executionId: string) {
  return pagedQuery<Schemas['AgentCall']>(['run', executionId, 'calls'], async (cursor, signal) => {
    const query = { limit: PAGE_SIZE, ...(cursor && { cursor }) };
    const params = { path: { execution_id: executionId }, query };
    return await unwrap(api.GET('/api/v1/tasks/{execution_id}/calls', { params, signal }));
  });
}

/** Returns true if a run has ended and its callback is not pending. */
export function isOver(run: Pick<Run, 'state' | 'callback'>): boolean {
  return isTerminal(run.state) && run.callback.status !== 'pending';
}
