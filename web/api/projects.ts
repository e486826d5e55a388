import { queryOptions, useQuery } from '@tanstack/react-query';
import { useCallback, useMemo } from 'react';
import { unwrap, api, type Schemas } from './client.ts';
import { fetchAll } from './pages.ts';

export type Project = Schemas['Project'];

/** Fetches all projects of the workspace, newest first. */
export const projectsQuery = queryOptions({
  queryKey: ['projects'],
  queryFn: ({ signal }) =>
    fetchAll<Project>((query) => unwrap(api.GET('/api/v1/projects', { params: { query }, signal }))),
  staleTime: 60_000,
});

const NONE: readonly Project[] = [];

/** Returns the projects, and their names by id: `…` for an unknown id. */
export function useProjects() {
  const { data: projects = NONE } = useQuery(projectsQuery);
  const names = useMemo(() => new Map(projects.map(({ id, name }) => [id, name])), [projects]);
  // The same function while the projects are the same: a long list renders again with another one.
  const nameOf = useCallback((id: string) => names.get(id) ?? '…', [names]);
  return { projects, nameOf };
}
