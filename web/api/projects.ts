import { queryOptions, useQuery } from '@tanstack/react-query';
import { unwrap, api, type Schemas } from './client.ts';

export type Project = Schemas['Project'];

const PAGE_SIZE = 200;

/** Fetches all projects of the workspace, newest first. */
export const projectsQuery = queryOptions({
  queryKey: ['projects'],
  async queryFn({ signal }): Promise<Project[]> {
    const projects: Project[] = [];
    let cursor: string | null | undefined;
    do {
      const query = { limit: PAGE_SIZE, ...(cursor ? { cursor } : {}) };
      const page = await unwrap(api.GET('/api/v1/projects', { params: { query }, signal }));
      projects.push(...page.data);
      cursor = page.next_cursor;
    } while (cursor);
    return projects;
  },
  staleTime: 60_000,
});

/** Returns the projects, and their names by id: `…` for an unknown id. */
export function useProjects() {
  const { data: projects = [] } = useQuery(projectsQuery);
  const names = new Map(projects.map((project) => [project.id, project.name]));
  return { projects, nameOf: (id: string) => names.get(id) ?? '…' };
}
