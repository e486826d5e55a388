/*
 * `node --import ./src/runtime/strip-types.mjs <root>` loads TypeScript without its types from the folder in
 * BATON_TYPESCRIPT_CACHE, and puts there what it does not find. Node's own compiler takes 12 MB of each process that loads it,
 * and Node's cache of compiled code keeps all of it in memory: 10 MB and more. Plain JavaScript, since it loads the rest. Does
 * nothing without the variable.
 */
import { createHash, randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import module from 'node:module';
import { join } from 'node:path';

const folder = process.env['BATON_TYPESCRIPT_CACHE'];
// Experimental: without it, Node removes the types.
const { stripTypeScriptTypes } = module;

if (folder && stripTypeScriptTypes) {
  module.registerHooks({
    load(url, context, next) {
      if (!url.startsWith('file:') || !url.endsWith('.ts') || url.includes('/node_modules/'))
        return next(url, context);
      return {
        format: 'module',
        source: withoutTypes(readFileSync(new URL(url), 'utf8'), folder),
        shortCircuit: true,
      };
    },
  });
}

/**
 * Returns TypeScript as JavaScript, from the folder `cache` if it is there. Types are replaced by spaces, so that positions in
 * stack traces stay the same. A last line shows that the file is complete: it may not be after a power failure.
 * @param {string} source
 * @param {string} cache
 * @returns {string}
 */
export function withoutTypes(source, cache) {
  const hash = createHash('sha256').update(process.version).update(source).digest('hex');
  const file = join(cache, `${hash}.js`);
  const end = `\n// ${hash}`;
  const known = readIfThere(file);
  if (known?.endsWith(end)) return known;
  const stripped = stripTypeScriptTypes(source) + end;
  keep(file, stripped, cache);
  return stripped;
}

/** @param {string} file */
function readIfThere(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return null;
  }
}

/**
 * Processes that start together may write the same file: a rename replaces it as a whole.
 * @param {string} file
 * @param {string} text
 * @param {string} cache
 */
function keep(file, text, cache) {
  try {
    mkdirSync(cache, { recursive: true });
    const unfinished = join(cache, `${randomUUID()}.part`);
    writeFileSync(unfinished, text);
    renameSync(unfinished, file);
  } catch {
    // A cache that cannot be written is not used.
  }
}
