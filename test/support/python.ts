import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { inCheckout } from '../../dev/paths.ts';
import { cacheFolder, runs } from '../../dev/temporal-binary.ts';

const REQUIREMENTS = inCheckout('test', 'support', 'python-requirements.txt');
const LIMIT_MS = 300_000;
/** Who has no Python is helped by no second look. */
const INTERPRETERS = ['python3', 'python'];

let known: Promise<string> | null = null;

/**
 * The path of a Python that has what `python-requirements.txt` names: Socket.IO's client in both manners, with
 * asyncio (aiohttp) and without (requests, websocket-client). Made once for these requirements and kept between runs.
 * @throws a sentence that says what to do
 */
export function pythonWithClients(): Promise<string> {
  known ??= make((sentence) => console.log(`    ${sentence}`));
  return known;
}

async function make(say: (sentence: string) => void): Promise<string> {
  const interpreter = INTERPRETERS.find((name) => runs(name, ['-c', 'import venv, ensurepip']));
  if (interpreter === undefined) {
    throw new Error(
      'The tests of Python clients need Python 3 with venv (on Debian: apt-get install python3-venv).',
    );
  }
  const { stdout: version } = await run(interpreter, ['--version']);
  const wanted = createHash('sha256').update(readFileSync(REQUIREMENTS)).update(version).digest('hex');
  const cache = cacheFolder();
  const kept = join(cache, `python-${wanted.slice(0, 16)}`);
  const python = join(kept, 'bin', 'python');
  if (existsSync(python) && runs(python, ['-c', 'import socketio'])) return python;
  say(`making a Python environment with ${interpreter} (takes some seconds) …`);
  const partial = mkdtempSync(join(cache, 'partial-'));
  try {
    await run(interpreter, ['-m', 'venv', partial]);
    const quiet = ['--quiet', '--disable-pip-version-check', '--no-input', '--only-binary=:all:'];
    await run(join(partial, 'bin', 'python'), ['-m', 'pip', 'install', ...quiet, '-r', REQUIREMENTS]);
    if (existsSync(kept) && !runs(python, ['-c', 'import socketio'])) rmSync(kept, { recursive: true });
    // Another run may have been first; what it made is the same.
    if (!existsSync(kept)) renameSync(partial, kept);
  } finally {
    rmSync(partial, { recursive: true, force: true });
  }
  return python;
}

async function run(command: string, args: string[]): Promise<{ stdout: string }> {
  try {
    return await promisify(execFile)(command, args, { timeout: LIMIT_MS });
  } catch (error) {
    const { stderr = '', message } = error as Error & { stderr?: string };
    const why = stderr.trim().split('\n').at(-1) || message;
    throw new Error(`the Python environment of the tests could not be made: ${why}`, { cause: error });
  }
}
