import { Button } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { TASK_TYPES } from '../../../src/domain/tasks/task-run.ts';
import { RUN_ERROR_CODES, TASK_STATES } from '../../../src/domain/tasks/task-states.ts';
import { membersQuery } from '../../api/members.ts';
import { useProjects } from '../../api/projects.ts';
import { FilterMenu } from '../../components/filter-menu.tsx';
import { SearchField } from '../../components/search-field.tsx';
import { Status } from '../../components/status.tsx';
import { TimeFilter } from '../../components/time-filter.tsx';
import classes from './filters.module.css';
import { filtersOf, hasFilters, withoutEmpty, type SearchChange } from './list-search.ts';
import { errorTitle, submitterOptions } from './words.ts';

const routeApi = getRouteApi('/signed-in/orchestration');

const STATES = TASK_STATES.map((value) => ({ value, title: <Status status={value} /> }));
const TYPES = TASK_TYPES.map((value) => ({ value, title: value }));
const ERRORS = RUN_ERROR_CODES.map((value) => ({ value, title: errorTitle(value) }));

/** The filters of the list. All of them are in the address. `submitters` are those of the listed runs. */
export function RunFilters({ submitters }: { submitters: readonly string[] }) {
  const search = routeApi.useSearch();
  const navigate = routeApi.useNavigate();
  const { projects } = useProjects();
  const { text = '', state = [], type = [], error = [], project, by, needs } = search;
  const change = (members: SearchChange) =>
    void navigate({ search: (before) => withoutEmpty({ ...before, ...members }), replace: true });
  const clear = () =>
    change(Object.fromEntries(Object.keys(filtersOf(search)).map((name) => [name, undefined])));
  return (
    <div className={classes['filters']}>
      <SearchField
        label="Search by title, ID or metadata"
        placeholder="Title, ID or metadata…"
        text={text}
        onChange={(words) => change({ text: words })}
        className={classes['search']}
      />
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
      <FilterMenu
        label="Error"
        options={ERRORS}
        chosen={error}
        onChange={(chosen) => change({ error: chosen })}
      />
      <Choice
        label="Project"
        none="All projects"
        options={projects.map(({ id, name }) => ({ value: id, name }))}
        chosen={project}
        onChange={(chosen) => change({ project: chosen })}
      />
      <Submitter submitters={submitters} chosen={by} onChange={(chosen) => change({ by: chosen })} />
      <TimeFilter search={search} onChange={change} />
      <Button
        variant={needs ? 'light' : 'default'}
        size="sm"
        aria-pressed={needs !== undefined}
        title="Runs with a question, and escalated runs that were not rerun"
        onClick={() => change({ needs: needs ? undefined : 'me' })}
      >
        Needs me
      </Button>
      {hasFilters(search) ? (
        <Button variant="subtle" size="sm" onClick={clear}>
          Clear filters
        </Button>
      ) : null}
    </div>
  );
}

type SubmitterProps = {
  submitters: readonly string[];
  chosen: string | undefined;
  onChange: (submitter: string | undefined) => void;
};

function Submitter({ submitters, chosen, onChange }: SubmitterProps) {
  const { data: members = [] } = useInfiniteQuery({ ...membersQuery, staleTime: 60_000 });
  return (
    <Choice
      label="Submitter"
      none="All submitters"
      options={submitterOptions(members, [...submitters, ...(chosen ? [chosen] : [])])}
      chosen={chosen}
      onChange={onChange}
    />
  );
}

type ChoiceProps = {
  label: string;
  /** The option that removes the filter. */
  none: string;
  options: readonly { value: string; name: string }[];
  chosen: string | undefined;
  onChange: (value: string | undefined) => void;
};

function Choice({ label, none, options, chosen, onChange }: ChoiceProps) {
  return (
    <select
      className={`plain-select ${classes['choice']}`}
      aria-label={label}
      value={chosen ?? ''}
      onChange={(event) => onChange(event.currentTarget.value || undefined)}
    >
      <option value="">{none}</option>
      {options.map(({ value, name }) => (
        <option key={value} value={value}>
          {name}
        </option>
      ))}
    </select>
  );
}
