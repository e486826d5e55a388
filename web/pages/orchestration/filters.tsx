import { Button, Group } from '@mantine/core';
import { getRouteApi } from '@tanstack/react-router';
import { TASK_TYPES } from '../../../src/domain/tasks/task-run.ts';
import { TASK_STATES } from '../../../src/domain/tasks/task-states.ts';
import { useProjects } from '../../api/projects.ts';
import { FilterMenu } from '../../components/filter-menu.tsx';
import { Status } from '../../components/status.tsx';
import type { RunListSearch } from './list-search.ts';

const routeApi = getRouteApi('/signed-in/orchestration');

const STATES = TASK_STATES.map((value) => ({ value, title: <Status status={value} /> }));
const TYPES = TASK_TYPES.map((value) => ({ value, title: value }));

/** The filters of the list. All of them are in the address. */
export function RunFilters() {
  const search = routeApi.useSearch();
  const navigate = routeApi.useNavigate();
  const { projects } = useProjects();
  const { state = [], type = [], project } = search;
  const change = (members: RunListSearch) =>
    void navigate({ search: (before) => withoutEmpty({ ...before, ...members }), replace: true });
  const isFiltered = state.length > 0 || type.length > 0 || project !== undefined;
  return (
    <Group gap="xs" mb="md">
      <FilterMenu
        label="State"
        options={STATES}
        chosen={state}
        onChange={(chosen) => change({ state: chosen })}
      />
      <FilterMenu
        label="Type"
        options={TYPES}
        chosen={type}
        onChange={(chosen) => change({ type: chosen })}
      />
      {projects.length > 1 ? (
        <ProjectFilter
          projects={projects}
          chosen={project}
          onChange={(chosen) => change({ project: chosen ?? '' })}
        />
      ) : null}
      {isFiltered ? (
        <Button variant="subtle" size="sm" onClick={() => change({ state: [], type: [], project: '' })}>
          Clear filters
        </Button>
      ) : null}
    </Group>
  );
}

type ProjectFilterProps = {
  projects: readonly { id: string; name: string }[];
  chosen: string | undefined;
  onChange: (id: string | undefined) => void;
};

function ProjectFilter({ projects, chosen, onChange }: ProjectFilterProps) {
  return (
    <select
      className="plain-select"
      aria-label="Project"
      value={chosen ?? ''}
      onChange={(event) => onChange(event.currentTarget.value || undefined)}
    >
      <option value="">All projects</option>
      {projects.map(({ id, name }) => (
        <option key={id} value={id}>
          {name}
        </option>
      ))}
    </select>
  );
}

function withoutEmpty(search: RunListSearch): RunListSearch {
  return Object.fromEntries(
    Object.entries(search).filter(([, value]) => value !== undefined && value.length > 0),
  );
}
