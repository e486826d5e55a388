import { createHash } from 'node:crypto';
import { globSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'vite';
import { checkout, inCheckout } from '../common/paths.ts';

/** Where the API process finds the built screens. */
export const DIST = inCheckout('web', 'dist');
const STAMP = 'built-from';

/** What the built screens follow from, besides the versions in package-lock.json. */
const SOURCES = [
  'web/**/*.{ts,tsx,css,html,svg,json}',
  'src/domain/**/*.ts',
  'examples/receivers/**/*.{ts,py,go}',
];
const NOT_SOURCES = /^web\/(dist|\.generated|\.building-)/;

/**
 * Builds the screens if they are missing or older than their sources. Returns whether it built.
 * @throws what the bundler says of a file that it does not understand
 */
export async function ensureScreens(): Promise<boolean> {
  const stamp = stampOfSources();
  if (stampOf(DIST) === stamp) return false;
  const folder = mkdtempSync(inCheckout('web', '.building-'));
  try {
    await build({
      configFile: inCheckout('web', 'vite.config.ts'),
      logLevel: 'error',
      mode: 'production',
      build: { outDir: folder, emptyOutDir: true },
    });
    writeFileSync(join(folder, STAMP), stamp);
    takePlaceOf(DIST, folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return true;
}

/** In one moment, so that a server beside never finds half of a build. */
function takePlaceOf(place: string, folder: string): void {
  const old = `${folder}-old`;
  try {
    renameSync(place, old);
  } catch {
    // there was none
  }
  try {
    renameSync(folder, place);
  } catch (error) {
    // Somebody else's build came in between; where it is of the same sources it will do.
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
