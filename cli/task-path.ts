import { idOf } from './ids.ts';

export const TASKS = '/api/v1/tasks';

/** Returns the path of a run. @throws CliError (exit code 2) for an invalid id */
export function taskPath(id: string): string {
  return `${TASKS}/${idOf('execution', id)}`;
}
