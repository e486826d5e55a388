import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { TASK_TYPES, type TaskType } from '../../../src/domain/task-run.ts';
import { TASK_STATES, type TaskState } from '../../../src/domain/task-states.ts';
import { textOf, wordsOf } from '../../app/search.ts';
import { signedInRoute } from '../../app/signed-in-route.ts';

/** The filters of the list; `run` is the one that is open beside it. */
export type RunListSearch = {
  state?: TaskState[];
  type?: TaskType[];
  project?: string;
  run?: string;
};

const listRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/orchestration',
  validateSearch: (search: Record<string, unknown>): RunListSearch => {
    const [state, type] = [wordsOf(search['state'], TASK_STATES), wordsOf(search['type'], TASK_TYPES)];
    const [project, run] = [textOf(search['project']), textOf(search['run'])];
    return {
      ...(state && { state }),
      ...(type && { type }),
      ...(project && { project }),
      ...(run && { run }),
    };
  },
  component: lazyRouteComponent(() => import('./list.tsx'), 'RunList'),
});

const runRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/orchestration/$executionId',
  component: lazyRouteComponent(() => import('./run.tsx'), 'RunPage'),
});

export const orchestrationRoutes = [listRoute, runRoute] as const;
