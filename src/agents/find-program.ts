import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';

/** Returns the path of a program that this process may run; null if there is none. `folder`: its working directory. */
export function findProgram(command: string, path: string, folder = '.'): string | null {
  const paths = command.includes('/')
    ? [resolve(folder, command)]
    : path.split(delimiter).map((one) => join(one, command));
  return paths.find(isProgram) ?? null;
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
