import { TASK_TYPES, type TaskType } from '../../../src/domain/tasks/task-run.ts';
import { TASK_STATES, type TaskState } from '../../../src/domain/tasks/task-states.ts';
import { parseText, parseList } from '../../routing/search.ts';

/** The filters of the list. `run` is the run that is open beside it. */
export type RunListSearch = {
  state?: TaskState[];
  type?: TaskType[];
  project?: string;
  run?: string;
};

/** Returns the valid filters of an address. */
export function runListSearch(search: Record<string, unknown>): RunListSearch {
  const [state, type] = [parseList(search['state'], TASK_STATES), parseList(search['type'], TASK_TYPES)];
  const [project, run] = [parseText(search['project']), parseText(search['run'])];
  return { ...(state && { state }), ...(type && { type }), ...(project && { project }), ...(run && { run }) };
}
