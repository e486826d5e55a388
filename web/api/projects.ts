import { queryOptions, useQuery } from '@tanstack/react-query';
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

/** Returns the projects, and their names by id: `…` for an unknown id. */
export function useProjects() {
  const { data: projects = [] } = useQuery(projectsQuery);
  const names = new Map(projects.map((project) => [project.id, project.name]));
  return { projects, nameOf: (id: string) => names.get(id) ?? '…' };
}
