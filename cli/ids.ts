import { usageError } from './exit-codes.ts';

/**
 * Returns an id as a segment of a path. @throws CliError (exit code 2) for one that would change the path, such as an empty
 * one, `.` or `..`, which `encodeURIComponent` does not encode
 */
export function idOf(what: string, id: string): string {
  if (!/^[0-9a-f-]{1,64}$/i.test(id)) throw usageError(`"${id}" is not a valid ${what} id`);
  return id;
}
