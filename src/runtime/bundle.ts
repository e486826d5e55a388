import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { DataConverter } from '@temporalio/common';
import type { Logger } from '@temporalio/worker';

/** Receives the output of the bundler. */
export type BundleLogger = Pick<Logger, 'warn'>;

/** The path of a bundle. */
type Bundle = { codePath: string };

const ROOT = join(import.meta.dirname, '../..');
const CACHE = join(ROOT, '.local', 'cache');
const BUILDER = join(import.meta.dirname, 'build-bundle.ts');
/** Sources of a bundle, in addition to the packages in the lock file. */
const SOURCES = ['src/workflows', 'src/temporal', 'src/domain'];
/** A build takes seconds. An older claim is invalid, and so is one of a process that has ended. */
const CLAIM_EXPIRY_MS = 60_000;
const POLL_MS = 100;

/** The bundle to build, and its path. */
export type BundlePlan = {
  kind: 'workflows' | 'agents';
  failureConverterPath: string | null;
  traced: boolean;
  codePath: string;
};

/**
 * Returns the bundle of the workflows of runs and deliveries. It is built when its sources or packages change, and
 * cached in `.local/cache`. A worker starts from it in a fifth of the time.
 */
export async function workflowBundle(
  logger: BundleLogger,
  converter: DataConverter = {},
  traced = false,
): Promise<Bundle> {
  return await bundled('workflows', { ...converter, traced }, logger);
}

/**
 * Returns the bundle of the workflows of agents. It contains the AI SDK and is four times as large, so only workers
 * with models load it.
 */
export async function agentsBundle(
  logger: BundleLogger,
  converter: DataConverter = {},
  traced = false,
): Promise<Bundle> {
  return await bundled('agents', { ...converter, traced }, logger);
}

async function bundled(
  kind: BundlePlan['kind'],
  { failureConverterPath = null, traced }: { failureConverterPath?: string | null; traced: boolean },
  logger: BundleLogger,
): Promise<Bundle> {
  // The failure converter is part of the code, so encrypted payloads need a separate bundle.
  const sealed = failureConverterPath === null ? '' : '-sealed';
  // The trace interceptors are only included if tracing is on.
  const variant = `${kind}${sealed}${traced ? '-traced' : ''}`;
  const codePath = join(CACHE, `${variant}-${await fingerprint()}.js`);
  while (!(await stat(codePath).catch(() => null))) {
    await mkdir(CACHE, { recursive: true });
    // One process builds; others that start at the same time wait for it.
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
    // Signal 0 only checks whether the process exists.
    if (holder > 0) process.kill(holder, 0);
    return Date.now() - mtimeMs <= CLAIM_EXPIRY_MS;
  } catch (error) {
    // The claim or its process no longer exists, or the process belongs to another user (EPERM).
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Runs in a separate process: the bundler leaves a hundred megabytes behind, which a worker would keep. */
async function build(plan: BundlePlan, logger: BundleLogger): Promise<void> {
  const { stderr } = await promisify(execFile)(process.execPath, [BUILDER, JSON.stringify(plan)]);
  if (stderr !== '') logger.warn('bundler output', { output: stderr });
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
