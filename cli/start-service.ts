import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { join, resolve } from 'node:path';
import { CliError, EXIT } from './exit-codes.ts';
import { LAUNCHER, localFolder, ROOT } from './local-service.ts';

/** The service in the package, and the file in it that names its content. */
const PACKAGED = join(ROOT, 'service');
export const STAMP = 'content';
/** What the service itself adds to its folder. */
const KEPT = new Set(['node_modules', '.local']);
/** npm packs no file with this name, so it has another one in the package. */
export const NPMRC = { packed: 'npmrc', unpacked: '.npmrc' } as const;

/**
 * Runs the local service in this terminal until it ends. Outside a checkout, it first unpacks the service of this package into
 * `.baton/service`: Node does not run TypeScript below `node_modules`.
 * @returns its exit code
 */
export async function startService(words: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  if (existsSync(LAUNCHER)) return await runHere([LAUNCHER, 'start', ...words], env);
  const data = localFolder(env);
  const service = unpackService(data);
  const agents = resolve('agents.yml');
  return await runHere([join(service, 'dev', 'run.mjs'), 'start', ...words], {
    ...(existsSync(agents) ? { AGENTS_FILE: agents } : {}),
    ...env,
    BATON_DATA: data,
  });
}

/**
 * Unpacks the service of this package into `data`, and returns its folder. Replaces the code of another version. Packages and data
 * stay.
 * @throws CliError if another version is running, or the folder cannot be written
 */
export function unpackService(data: string): string {
  const service = join(data, 'service');
  if (stampOf(service) === stampOf(PACKAGED)) return service;
  const running = runningLauncher(data);
  if (running !== null) {
    throw new CliError(
      EXIT.usage,
      `Another version of Baton is running in this folder (process ${running}). Stop it first`,
    );
  }
  try {
    mkdirSync(service, { recursive: true });
    // Its secrets are not for version control.
    writeFileSync(join(data, '.gitignore'), '*\n');
    for (const name of readdirSync(service)) {
      if (!KEPT.has(name)) rmSync(join(service, name), { recursive: true });
    }
    for (const name of readdirSync(PACKAGED)) {
      if (name === STAMP) continue;
      const unpacked = name === NPMRC.packed ? NPMRC.unpacked : name;
      cpSync(join(PACKAGED, name), join(service, unpacked), { recursive: true });
    }
    cpSync(join(PACKAGED, STAMP), join(service, STAMP));
    return service;
  } catch (error) {
    throw new CliError(EXIT.usage, `Cannot unpack the service to ${service}: ${(error as Error).message}`);
  }
}

/** Returns the process id of the launcher that uses this folder; null if none is running. A crash leaves its file behind. */
function runningLauncher(data: string): number | null {
  try {
    const pid = Number(readFileSync(join(data, 'launcher.pid'), 'utf8'));
    process.kill(pid, 0);
    return isOtherProgram(pid) ? null : pid;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : null;
    if (code === 'ENOENT' || code === 'ESRCH') return null;
    throw error;
  }
}

/** Whether the process id now belongs to another program. Only Linux tells. */
function isOtherProgram(pid: number): boolean {
  try {
    return !readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('launcher');
  } catch {
    return false;
  }
}

function stampOf(folder: string): string | null {
  try {
    return readFileSync(join(folder, STAMP), 'utf8');
  } catch {
    return null;
  }
}

/** Runs a program with this Node in this terminal. */
async function runHere(words: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  // The program handles the signals. The terminal sends Ctrl-C to both processes, and receiving it twice is harmless.
  process.removeAllListeners('SIGINT');
  const child = spawn(process.execPath, words, { stdio: 'inherit', env });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal));
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  return code ?? 128 + (signal === null ? 0 : constants.signals[signal]);
}
