import type * as real from '../../../src/database/tasks/reruns.ts';
import { statement } from './tables.ts';

/* Replaces `src/database/tasks/reruns.ts`. Nobody reruns a simulated run. */

export const findPlan: typeof real.findPlan = statement(
  'findPlan',
  (tables, executionId: string) => tables.runs.get(executionId)?.plan ?? null,
);

export const listReruns: typeof real.listReruns = async () => [];
