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
/** Who has no Python is helped by no second look. */
const INTERPRETERS = ['python3', 'python'];

/** What a Python environment of ours holds. */
export type PythonEnvironment = {
  /** Path of the list of packages with their versions, as pip reads it. */
  requirements: string;
  /** What can be imported once it is whole. */
  probe: string;
  /** Reports slow steps. */
  say?: (sentence: string) => void;
};

const known = new Map<string, Promise<string>>();

/**
 * The path of a Python that has what `requirements` names; its programs lie beside it (`bin/`). Made once for these
 * requirements and this Python, and kept between runs in the cache.
 * @throws a sentence that says what to do
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
    // Another run may have been first; what it made is the same.
    if (!existsSync(kept)) renameSync(partial, kept);
  } finally {
    rmSync(partial, { recursive: true, force: true });
  }
  return python;
}

/** The first line of each installed program names its Python by the whole path, and that is about to change. */
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
