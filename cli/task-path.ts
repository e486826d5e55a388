import { usageError } from './exit-codes.ts';

export const TASKS = '/api/v1/tasks';

/** Returns the path of a run; rejects an id that would change the path. */
export function taskPath(id: string): string {
  if (!/^[0-9a-f-]{1,64}$/i.test(id)) throw usageError(`"${id}" is not a valid execution id`);
  return `${TASKS}/${id}`;
}
