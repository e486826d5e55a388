import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, constants, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { hasPrograms, loadCatalogue } from '../agents/catalogue.ts';
import type { Configuration } from './configuration.ts';
import { chooseIsolation, type ChosenIsolation } from './program-isolation.ts';

/** Set in the environment of a hidden process: the Node that it was started with. */
const MARK = 'BATON_HIDDEN_FROM';
const FOLDER = 'baton-node-';
/** A program that may be run, but not read. */
const EXECUTE_ONLY = 0o111;
/** As in `deploy/process.sh`: programs must neither open the debugger nor place packages that this process loads. */
const PROTECTION = ['--disable-sigusr1', '--no-global-search-paths'];

/**
 * Hides the environment and the memory of this process from programs of agents, if they run as the same user and could
 * read them. The process starts again with a copy of Node whose file cannot be read. Linux makes such a process "not
 * dumpable" (execve(2), prctl(2)): only root can read its environment and memory, or trace it. Does nothing if this is
 * not needed or not possible; then the log says what programs can read. Returns the isolation of programs if it had to
 * be chosen to find this out.
 * @throws ConfigurationError and errors of the catalogue
 */
export async function hideProcess({
  agentsFile,
  models,
  programsUser,
}: Pick<Configuration, 'agentsFile' | 'models' | 'programsUser'>): Promise<ChosenIsolation | null> {
  const original = process.env[MARK];
  if (original !== undefined) {
    tidyUp(original);
    return null;
  }
  // The channel to a parent process does not survive.
  if (process.platform !== 'linux' || process.getuid?.() === 0 || process.channel || !process.execve)
    return null;
  if (!hasPrograms(loadCatalogue(agentsFile, models.defaultModel))) return null;
  const chosen = await chooseIsolation({ programsUser });
  if (!chosen.exposure?.own) return chosen;
  const copy = copyOfNode();
  if (copy === null) return chosen;
  const words = [copy, ...PROTECTION, ...process.execArgv, ...process.argv.slice(1)];
  return process.execve(copy, words, { ...process.env, [MARK]: process.execPath });
}

/** Returns the path of a copy of Node that cannot be read; null if it cannot be created or run. */
function copyOfNode(): string | null {
  let folder: string | null = null;
  try {
    folder = mkdtempSync(join(tmpdir(), FOLDER));
    const copy = join(folder, 'node');
    copyFileSync(process.execPath, copy, constants.COPYFILE_FICLONE);
    chmodSync(copy, EXECUTE_ONLY);
    // A temporary folder may forbid programs.
    if (spawnSync(copy, ['--version'], { env: {} }).status === 0) return copy;
  } catch {
    // No space, for example.
  }
  if (folder !== null) rmSync(folder, { recursive: true, force: true });
  return null;
}

/** Removes the copy, which the system keeps while the process runs. */
function tidyUp(original: string): void {
  delete process.env[MARK];
  const folder = dirname(process.execPath);
  if (!folder.startsWith(join(tmpdir(), FOLDER))) return;
  rmSync(folder, { recursive: true, force: true });
  process.execPath = original;
}
