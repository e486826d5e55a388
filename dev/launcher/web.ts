import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { globSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { checkout, inCheckout } from '../common/paths.ts';

/** The folder from which the API process serves the screens. */
export const DIST = inCheckout('web', 'dist');
const STAMP = 'built-from';
const BUILDER = join(import.meta.dirname, 'build-screens.ts');

/** The sources of the screens. The versions in package-lock.json also count. */
const SOURCES = [
  'web/**/*.{ts,tsx,css,html,svg,json}',
  'src/domain/**/*.ts',
  'examples/receivers/**/*.{ts,py,go}',
];
const NOT_SOURCES = /^web\/(dist|\.generated|\.building-)/;

/**
 * Builds the screens if they are missing or older than their sources. Returns whether it has built them.
 * @throws the error of the bundler
 */
export async function ensureScreens(): Promise<boolean> {
  const stamp = stampOfSources();
  if (stampOf(DIST) === stamp) return false;
  const folder = mkdtempSync(inCheckout('web', '.building-'));
  try {
    await build(folder);
    writeFileSync(join(folder, STAMP), stamp);
    takePlaceOf(DIST, folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return true;
}

/** Runs in a separate process: the bundler leaves some 400 MB behind, which the launcher would keep. */
async function build(folder: string): Promise<void> {
  await promisify(execFile)(process.execPath, [BUILDER, folder]);
}

/** Replaces the folder with renames, so that a running server never finds half of a build. */
function takePlaceOf(place: string, folder: string): void {
  const old = `${folder}-old`;
  try {
    renameSync(place, old);
  } catch {
    // there was no earlier build
  }
  try {
    renameSync(folder, place);
  } catch (error) {
    // Another process has built at the same time. Its result is fine if it has the same sources.
    if (stampOf(place) !== stampOf(folder)) throw error;
  } finally {
    rmSync(old, { recursive: true, force: true });
  }
}

function stampOf(folder: string): string | null {
  try {
    return readFileSync(join(folder, STAMP), 'utf8');
  } catch {
    return null;
  }
}

function stampOfSources(): string {
  const hash = createHash('sha256');
  const files = globSync(SOURCES, { cwd: checkout }).filter((file) => !NOT_SOURCES.test(file));
  for (const file of ['package-lock.json', ...files.toSorted()]) {
    hash
      .update(`${file}\0`)
      .update(readFileSync(inCheckout(file)))
      .update('\0');
  }
  return hash.digest('hex');
}
