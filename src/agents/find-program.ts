import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';

/** Returns the path of a program that this process may run; null if it or its working directory `folder` is missing. */
export function findProgram(command: string, path: string, folder = '.'): string | null {
  if (!isFolder(folder)) return null;
  const paths = command.includes('/')
    ? [resolve(folder, command)]
    : path.split(delimiter).map((one) => join(one, command));
  return paths.find(isProgram) ?? null;
}

/** Returns a message that names what is missing if a program cannot be found: its working directory, or the program. */
export function describeMissing({ command, cwd }: { command: string; cwd?: string | undefined }): string {
  return cwd !== undefined && !isFolder(cwd) ? `folder not found: ${cwd}` : `program not found: ${command}`;
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
