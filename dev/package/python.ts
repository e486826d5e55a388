import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { PYTHON_CLIENT, pythonForClient } from '../types/python-environment.ts';

/* `npm run client:python`: builds the client package for Python. */

/**
 * Builds the package.
 * @returns the path of the wheel below `folder`
 */
export async function buildWheel(folder: string): Promise<string> {
  const python = await pythonForClient();
  const stage = mkdtempSync(join(folder, 'building-'));
  try {
    const args = ['-m', 'hatchling', 'build', '--target', 'wheel', '--directory', stage];
    await promisify(execFile)(python, args, { cwd: PYTHON_CLIENT });
    const [wheel] = readdirSync(stage);
    if (wheel === undefined) throw new Error('hatchling built nothing');
    renameSync(join(stage, wheel), join(folder, wheel));
    return join(folder, wheel);
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
}

if (import.meta.main) console.log(await buildWheel(process.argv[2] ?? PYTHON_CLIENT));
