import { execFile } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  cpSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, relative, resolve } from 'node:path';
import { promisify } from 'node:util';
import { checkout, inCheckout } from '../../dev/common/paths.ts';
import { environmentOf, ignoredBy, only, readContainerfile, type Stage } from './containerfile.ts';

/** The working directory of every stage. */
const PLACE = '/app';
const LIMIT_MS = 240_000;

/** The built image, as a folder. */
export type BuiltImage = {
  /** The folder that replaces `/app`. */
  folder: string;
  /** Returns the command line of the process with this name. */
  commandOf(word: string): string[];
  /** The variables of ENV, and a PATH that begins with Node. */
  environment: Record<string, string>;
  /** Returns every file below the folder with its size and the time of its last change. */
  files(): Map<string, string>;
  remove(): void;
};

/**
 * Does what `deploy/Containerfile` says without a container engine: each stage is a folder, COPY copies, RUN runs.
 * Left out are what the base image's package manager does, and a second download of the packages that the checkout
 * has already been given by the same command.
 */
export async function buildImage(): Promise<BuiltImage> {
  const root = mkdtempSync(join(tmpdir(), 'baton-image-'));
  chmodSync(root, 0o755); // the processes may run as another user
  const path = `${programs(root)}:${process.env['PATH'] ?? ''}`;
  const stages = readContainerfile(inCheckout('deploy', 'Containerfile'));
  const folderOf = (name: string) => join(root, name);
  for (const stage of stages) await build(stage, folderOf, path);
  const last = stages.at(-1);
  if (!last) throw new Error('a Containerfile without stages');
  const folder = folderOf(last.name);
  const [reaper, end, ...program] = JSON.parse(only(last, 'ENTRYPOINT').value) as string[];
  if (reaper !== 'tini' || end !== '--') throw new Error('processes are not started by tini');
  return {
    folder,
    commandOf: (word) => [...program.map((part) => part.replace(PLACE, folder)), word],
    environment: { ...environmentOf(last), PATH: path },
    files: () => filesBelow(folder),
    remove: () => rmSync(root, { recursive: true, force: true }),
  };
}

/** Returns a folder with the current Node, instead of the Node of the base image. */
function programs(root: string): string {
  const folder = join(root, 'bin');
  mkdirSync(folder);
  try {
    linkSync(process.execPath, join(folder, 'node'));
  } catch {
    copyFileSync(process.execPath, join(folder, 'node'));
  }
  return folder;
}

async function build(stage: Stage, folderOf: (name: string) => string, path: string): Promise<void> {
  const folder = folderOf(stage.name);
  mkdirSync(folder);
  for (const { name, flags, value } of stage.instructions) {
    if (name === 'WORKDIR' && value !== PLACE) throw new Error(`${stage.name} works in ${value}`);
    if (name === 'COPY' && flags['from'] !== undefined) {
      await copyFromStage(value, folder, folderOf(flags['from']));
    } else if (name === 'COPY') copyFromCheckout(value, folder);
    if (name === 'RUN') await run(value, folder, path);
  }
}

function copyFromCheckout(words: string, folder: string): void {
  const sources = words.split(/\s+/);
  const target = sources.pop() ?? '';
  const isIgnored = ignoredBy(inCheckout('.dockerignore'));
  for (const source of sources) {
    if (isIgnored(source)) throw new Error(`.dockerignore keeps ${source} from the builder`);
    const from = inCheckout(source);
    // Copies a file into a folder, or the content of a folder into a folder.
    const intoFolder = target.endsWith('/') && lstatSync(from).isFile();
    cpSync(from, resolve(folder, target, intoFolder ? basename(from) : ''), {
      recursive: true,
      preserveTimestamps: true,
      filter: (one) => !isIgnored(relative(checkout, one)),
    });
  }
}

async function copyFromStage(words: string, folder: string, stage: string): Promise<void> {
  const [source = '', target = ''] = words.split(/\s+/);
  const to = resolve(folder, target);
  mkdirSync(to, { recursive: true });
  // Links instead of copies: nothing changes a stage that is built.
  await promisify(execFile)('cp', ['-al', `${source.replace(PLACE, stage)}/.`, to]);
}

async function run(command: string, folder: string, path: string): Promise<void> {
  if (command.startsWith('apt-get ')) return;
  if (/^npm ci .*--workspace web$/.test(command)) {
    symlinkSync(inCheckout('node_modules'), join(folder, 'node_modules'));
    return;
  }
  const env = { ...process.env, PATH: path };
  await promisify(execFile)('sh', ['-euc', command], { cwd: folder, env, timeout: LIMIT_MS });
}

function filesBelow(folder: string): Map<string, string> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  const paths = entries.map((entry) => join(entry.parentPath, entry.name));
  return new Map(
    paths.map((one) => {
      const { size, mtimeMs } = lstatSync(one);
      return [relative(folder, one), `${size} ${mtimeMs}`];
    }),
  );
}
