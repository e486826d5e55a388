import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { DataConverter } from '@temporalio/common';
import type { Logger } from '@temporalio/worker';

/** Where a bundle lies. */
type Bundle = { codePath: string };

const ROOT = join(import.meta.dirname, '../..');
const CACHE = join(ROOT, '.local', 'cache');
const BUILDER = join(import.meta.dirname, 'build-bundle.ts');
/** What a bundle is made of, apart from the packages that the lock file names. */
const SOURCES = ['src/workflows', 'src/temporal', 'src/domain'];
/** Building takes seconds: a claim that is older counts no more, nor does one of a process that has ended. */
const CLAIM_EXPIRY_MS = 60_000;
const POLL_MS = 100;

/** What is to be built, and where to. */
export type BundlePlan = {
  kind: 'workflows' | 'agents';
  failureConverterPath: string | null;
  traced: boolean;
  codePath: string;
};

/**
 * The workflows of runs and deliveries as one file, made when their sources or packages have changed and kept in `.local/cache`. A
 * worker starts from it in a fifth of the time. Answers the file's path.
 */
export async function workflowBundle(
  logger: Logger,
  converter: DataConverter = {},
  traced = false,
): Promise<Bundle> {
  return await bundled('workflows', { ...converter, traced }, logger);
}

/**
 * The same for the workflows of agents, which bring the AI SDK: four times as much code, so only workers that work
 * with models load it.
 */
export async function agentsBundle(
  logger: Logger,
  converter: DataConverter = {},
  traced = false,
): Promise<Bundle> {
  return await bundled('agents', { ...converter, traced }, logger);
}

async function bundled(
  kind: BundlePlan['kind'],
  { failureConverterPath = null, traced }: { failureConverterPath?: string | null; traced: boolean },
  logger: Logger,
): Promise<Bundle> {
  // How failures are written is part of the code: a bundle for encrypted payloads is another one.
  const sealed = failureConverterPath === null ? '' : '-sealed';
  // What carries traces through workflows is put in only where some are kept.
  const variant = `${kind}${sealed}${traced ? '-traced' : ''}`;
  const codePath = join(CACHE, `${variant}-${await fingerprint()}.js`);
  while (!(await stat(codePath).catch(() => null))) {
    await mkdir(CACHE, { recursive: true });
    // One process builds, the others that start beside it wait for what it builds.
    const claim = `${codePath}.claim`;
    if (!(await takeClaim(claim))) {
      await pause(POLL_MS);
      continue;
    }
    try {
      await build({ kind, failureConverterPath, traced, codePath }, logger);
    } finally {
      await rm(claim, { force: true });
    }
  }
  return { codePath };
}

async function takeClaim(claim: string): Promise<boolean> {
  try {
    await writeFile(claim, `${process.pid}`, { flag: 'wx' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    if (!(await isValidClaim(claim))) await rm(claim, { force: true });
    return false;
  }
}

async function isValidClaim(claim: string): Promise<boolean> {
  try {
    const { mtimeMs } = await stat(claim);
    const holder = Number(await readFile(claim, 'utf8'));
    // Signal 0 is not sent: it only asks whether there is such a process.
    if (holder > 0) process.kill(holder, 0);
    return Date.now() - mtimeMs <= CLAIM_EXPIRY_MS;
  } catch (error) {
    // Gone meanwhile, and its holder's process, too; or a process that is another user's.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** In a process of its own: the bundler leaves a hundred megabytes behind, which a worker would keep for its life. */
async function build(plan: BundlePlan, logger: Logger): Promise<void> {
  const { stderr } = await promisify(execFile)(process.execPath, [BUILDER, JSON.stringify(plan)]);
  if (stderr !== '') logger.warn('bundler output', { said: stderr });
}

async function fingerprint(): Promise<string> {
  const hash = createHash('sha256').update(await readFile(BUILDER));
  hash.update(await readFile(join(ROOT, 'package-lock.json')));
  for (const folder of SOURCES) {
    const names = await readdir(join(ROOT, folder), { recursive: true });
    for (const name of names.filter((entry) => entry.endsWith('.ts')).toSorted()) {
      hash.update(name).update(await readFile(join(ROOT, folder, name)));
    }
  }
  return hash.digest('hex').slice(0, 16);
}
