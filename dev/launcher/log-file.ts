import { existsSync, renameSync, statSync } from 'node:fs';
import { local } from '../common/paths.ts';

const MOST_LOG_BYTES = 20 * 1_048_576;

/** Returns the log file of a child process. A large file is renamed first. */
export function logFileOf(name: string): string {
  const file = local('logs', `${name}.log`);
  if (existsSync(file) && statSync(file).size > MOST_LOG_BYTES) renameSync(file, `${file}.1`);
  return file;
}
