import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { DIST, ensureScreens } from '../launcher/web.ts';

/* A part of `npm run check`: builds the screens and checks the size of the first load. */

/** The limit of what a browser loads for the first screen, gzipped, in bytes. */
const FIRST_LOAD_LIMIT = 250_000;
/** The first page after signing in. */
const FIRST_PAGE = 'pages/orchestration/list.tsx';

type Chunk = { file: string; src?: string; isEntry?: boolean; imports?: string[]; css?: string[] };
type Manifest = Record<string, Chunk>;

await ensureScreens();
const manifest = JSON.parse(readFileSync(join(DIST, '.vite', 'manifest.json'), 'utf8')) as Manifest;
const entry = Object.keys(manifest).find((name) => manifest[name]?.isEntry) ?? '';
const shell = filesOf([entry]);
const first = filesOf([entry, FIRST_PAGE]);
if (!(FIRST_PAGE in manifest)) throw new Error(`${FIRST_PAGE} is no longer a separate page`);
const bytes = sum(first) + sum(['index.html']);
const pages = Object.keys(manifest)
  .filter((name) => name.startsWith('pages/') && manifest[name]?.src !== undefined)
  .map((name) => ({ name, bytes: sum([...filesOf([name])].filter((file) => !shell.has(file))) }))
  .toSorted((one, other) => other.bytes - one.bytes);

console.log(`    first load ${kilobytes(bytes)} gzipped of ${kilobytes(FIRST_LOAD_LIMIT)} allowed`);
console.log(
  `    in addition, by page: ${pages.map((page) => `${page.name.slice(6, -4)} ${kilobytes(page.bytes)}`).join(', ')}`,
);
if (bytes > FIRST_LOAD_LIMIT) {
  console.log('    The first load is over its limit: load later what the first screen does not need.');
  process.exitCode = 1;
}

/** Returns the files of these chunks and of everything that they import statically. */
function filesOf(names: readonly string[], known: Set<string> = new Set()): Set<string> {
  for (const name of names) {
    const chunk = manifest[name];
    if (!chunk || known.has(chunk.file)) continue;
    known.add(chunk.file);
    for (const sheet of chunk.css ?? []) known.add(sheet);
    filesOf(chunk.imports ?? [], known);
  }
  return known;
}

function sum(files: Iterable<string>): number {
  let total = 0;
  for (const file of files) total += gzipSync(readFileSync(join(DIST, file))).length;
  return total;
}

function kilobytes(count: number): string {
  return `${(count / 1000).toFixed(0)} kB`;
}
