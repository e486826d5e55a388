import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cacheFolder, runs } from './temporal-binary.ts';

const LIMIT_MS = 300_000;
const INTERPRETERS = ['python3', 'python'];

/** A Python environment to create. */
export type PythonEnvironment = {
  /** The path of the list of packages with their versions, in the format of pip. */
  requirements: string;
  /** A module that can be imported if the environment is complete. */
  probe: string;
  /** Reports slow steps. */
  say?: (sentence: string) => void;
};

const known = new Map<string, Promise<string>>();

/**
 * Returns the path of a Python with the packages of `requirements`. Their programs are in the same folder (`bin/`). The
 * environment is created once for each list and version of Python, and kept in the cache.
 * @throws Error with instructions
 */
export function pythonWith(environment: PythonEnvironment): Promise<string> {
  const made = known.get(environment.requirements) ?? make(environment);
  known.set(environment.requirements, made);
  return made;
}

async function make({ requirements, probe, say = tellConsole }: PythonEnvironment): Promise<string> {
  const interpreter = INTERPRETERS.find((name) => runs(name, ['-c', 'import venv, ensurepip']));
  if (interpreter === undefined) {
    throw new Error('This needs Python 3 with venv (on Debian: apt-get install python3-venv).');
  }
  const { stdout: version } = await run(interpreter, ['--version']);
  const wanted = createHash('sha256').update(readFileSync(requirements)).update(version).digest('hex');
  const cache = cacheFolder();
  const kept = join(cache, `python-${wanted.slice(0, 16)}`);
  const python = join(kept, 'bin', 'python');
  const isWhole = () => existsSync(python) && runs(python, ['-c', `import ${probe}`]);
  if (isWhole()) return python;
  say(`creating a Python environment with ${interpreter} (takes a few seconds) …`);
  const partial = mkdtempSync(join(cache, 'partial-'));
  try {
    await run(interpreter, ['-m', 'venv', partial]);
    const quiet = ['--quiet', '--disable-pip-version-check', '--no-input', '--only-binary=:all:'];
    await run(join(partial, 'bin', 'python'), ['-m', 'pip', 'install', ...quiet, '-r', requirements]);
    nameInScripts(join(partial, 'bin'), partial, kept);
    if (existsSync(kept) && !isWhole()) rmSync(kept, { recursive: true });
    // Another process may have been faster. Its result is the same.
    if (!existsSync(kept)) renameSync(partial, kept);
  } finally {
    rmSync(partial, { recursive: true, force: true });
  }
  return python;
}

/** Replaces the path of Python in the first line of each installed program, since the folder will be renamed. */
function nameInScripts(bin: string, from: string, to: string): void {
  for (const entry of readdirSync(bin, { withFileTypes: true }).filter((one) => one.isFile())) {
    const path = join(bin, entry.name);
    const content = readFileSync(path, 'latin1');
    const line = `#!${from}/`;
    if (content.startsWith(line)) writeFileSync(path, `#!${to}/${content.slice(line.length)}`, 'latin1');
  }
}

function tellConsole(sentence: string): void {
  console.log(`    ${sentence}`);
}

async function run(command: string, args: string[]): Promise<{ stdout: string }> {
  try {
    return await promisify(execFile)(command, args, { timeout: LIMIT_MS });
  } catch (error) {
    const { stderr = '', message } = error as Error & { stderr?: string };
    const why = stderr.trim().split('\n').at(-1) || message;
    throw new Error(`cannot create the Python environment: ${why}`, { cause: error });
  }
}
