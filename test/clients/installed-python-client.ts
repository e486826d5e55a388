import { execFile } from 'node:child_process';
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { inCheckout } from '../../dev/common/paths.ts';
import { PYTHON_CLIENT_TOOLS, pythonForClient } from '../../dev/types/python-environment.ts';
import { buildWheel } from '../../dev/package/python.ts';

const run = promisify(execFile);
const PIP_OPTIONS = ['--quiet', '--disable-pip-version-check', '--no-input', '--only-binary=:all:'];
const STRICT = {
  typeCheckingMode: 'strict',
  pythonVersion: '3.10',
  reportUnnecessaryTypeIgnoreComment: 'error',
};

/** The Python client as its users have it: built, and installed into a separate environment. */
export type InstalledPythonClient = {
  /** The folder of the environment, for programs that use it. */
  project: string;
  /** The wheel that is installed. */
  wheel: string;
  /** The Python of the environment. */
  python: string;
};

/**
 * Builds the package and installs it, together with pytest and the packages that it declares, in the tested versions.
 * @throws with the output of pip
 */
export async function installPythonClient(): Promise<InstalledPythonClient> {
  const project = realpathSync(mkdtempSync(join(tmpdir(), 'baton-python-user-')));
  process.once('exit', () => rmSync(project, { recursive: true, force: true }));
  const wheel = await buildWheel(project);
  await run(await pythonForClient(), ['-m', 'venv', join(project, 'environment')]);
  const python = join(project, 'environment', 'bin', 'python');
  await run(python, ['-m', 'pip', 'install', ...PIP_OPTIONS, '-c', PYTHON_CLIENT_TOOLS, wheel, 'pytest']);
  return { project, wheel, python };
}

/**
 * Checks the Python files of a folder below the project with pyright's strict rules.
 * @returns what pyright reports; a superfluous exception counts as an error
 */
export async function strictTypeErrors({ project }: InstalledPythonClient, folder: string): Promise<string> {
  const settings = { ...STRICT, venvPath: project, venv: 'environment', extraPaths: ['src'] };
  writeFileSync(join(folder, 'pyrightconfig.json'), JSON.stringify(settings));
  return await pyright(['--project', folder], project);
}

/** Returns how completely the types of the installed package are declared, as a summary of pyright. */
export async function typeCompleteness({ project }: InstalledPythonClient): Promise<string> {
  const output = await pyright(['--verifytypes', 'baton_client', '--ignoreexternal'], project);
  return /Type completeness score: (\S+)/.exec(output)?.[1] ?? output;
}

async function pyright(args: string[], project: string): Promise<string> {
  const program = inCheckout('node_modules', 'pyright', 'index.js');
  const path = `${join(project, 'environment', 'bin')}:${process.env['PATH']}`;
  const settings = { cwd: project, env: { ...process.env, PATH: path } };
  const found = run(process.execPath, [program, ...args], settings);
  return (await found.catch((error: Error & { stdout: string }) => error)).stdout.trim();
}
