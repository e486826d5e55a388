import { runSearchOf } from '../../../src/domain/tasks/run-search.ts';
import { TASK_TYPES, type TaskType } from '../../../src/domain/tasks/task-run.ts';
import {
  RUN_ERROR_CODES,
  TASK_STATES,
  type RunErrorCode,
  type TaskState,
} from '../../../src/domain/tasks/task-states.ts';
import { parseDay, parseTime, SPANS, startOfDay, startOfSpan, type Span } from '../../format/spans.ts';
import { parseText, parseList } from '../../routing/search.ts';

/** The filters of the list. */
export type ListFilters = {
  /** Words of titles and metadata, or an id. */
  text?: string;
  state?: TaskState[];
  type?: TaskType[];
  /** Why a run failed. */
  error?: RunErrorCode[];
  project?: string;
  /** The submitter: `user:<e-mail>`, `key:<prefix>`, or `me`. */
  by?: string;
  /** Only runs that wait for a person. */
  needs?: 'me';
  span?: Span;
  /** The exact time of the first run that is listed. */
  since?: string;
  /** The first and the last day, such as `2026-01-31`. */
  from?: string;
  to?: string;
};

/** The filters, the run that is open beside the list, and whether the form of a task is to be opened. */
export type RunListSearch = ListFilters & { run?: string; submit?: 'yes' };

/** Returns the valid filters of an address. */
export function runListSearch(search: Record<string, unknown>): RunListSearch {
  const [span] = parseList(search['span'], SPANS) ?? [];
  return withoutEmpty({
    text: parseText(search['text']),
    state: parseList(search['state'], TASK_STATES),
    type: parseList(search['type'], TASK_TYPES),
    error: parseList(search['error'], RUN_ERROR_CODES),
    project: parseText(search['project']),
    by: parseText(search['by']),
    needs: search['needs'] === 'me' ? 'me' : undefined,
    span,
    since: parseTime(search['since']),
    from: parseDay(search['from']),
    to: parseDay(search['to']),
    run: parseText(search['run']),
    submit: search['submit'] === 'yes' ? 'yes' : undefined,
  });
}

/** A change of the filters. undefined and empty values remove a filter. */
export type SearchChange = { [Name in keyof RunListSearch]?: RunListSearch[Name] | undefined };

/** Returns the search without its empty fields. */
export function withoutEmpty(search: SearchChange): RunListSearch {
  return Object.fromEntries(
    Object.entries(search).filter(([, value]) => value !== undefined && value.length > 0),
  );
}

/** Returns only the filters. */
export function filtersOf({ run: _run, submit: _submit, ...filters }: RunListSearch): ListFilters {
  return filters;
}

/** Returns whether a filter is set. */
export function hasFilters(search: RunListSearch): boolean {
  return Object.keys(filtersOf(search)).length > 0;
}

/** Returns the parameters of the API for filters. Those of a span depend on the present time. */
export function parametersOf({
  text,
  state,
  type,
  error,
  project,
  by,
  needs,
  span,
  since,
  from,
  to,
}: ListFilters) {
  return {
    // Without a letter or a digit, it is the beginning of a text.
    ...(text && runSearchOf(text) && { q: text }),
    ...(state && { state }),
    ...(type && { task_type: type }),
    ...(error && { errors: error }),
    ...(project && { project_id: project }),
    ...(by && { created_by: by }),
    ...(needs && { needs_me: 'true' as const }),
    ...(span && { created_after: startOfSpan(span) }),
    ...(since && { created_after: since }),
    ...(from && { created_after: startOfDay(from) }),
    ...(to && { created_before: startOfDay(to, { after: 1 }) }),
  };
}
