import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { checkout } from '../common/paths.ts';

/** Packs the package in `stage`, without its scripts. Returns the path of the tarball below `folder`. */
export function npmPack(stage: string, folder: string): string {
  const output = run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], stage);
  return join(folder, fileNameIn(JSON.parse(output)));
}

/** Returns the file name in the output of npm, which is a list or an object with the package name as its key. */
function fileNameIn(output: unknown): string {
  const [packed] = Object.values(output as Record<string, { filename: string }>);
  if (packed === undefined) throw new Error('npm packed nothing');
  return packed.filename;
}

/** Runs a program. @throws Error with its output if it fails */
export function run(command: string, words: readonly string[], cwd = checkout): string {
  try {
    return execFileSync(command, words, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    throw new Error(`${command} ${words.join(' ')} failed:\n${stdout}${stderr}`, { cause: error });
  }
}
