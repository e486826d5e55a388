/*
 * `node --import ./src/runtime/load-code.mjs <root>` loads code so that it needs little memory, from the folder in
 * BATON_CODE_CACHE, and puts there what it does not find: TypeScript without its types, since Node's own compiler takes 12 MB
 * of each process that loads it, and large files of packages without comments and indentation, since V8 keeps all source text
 * (7 MB less of 15 in an API process). Node's cache of compiled code is no replacement: it keeps all of it in memory, 10 MB and
 * more. Plain JavaScript, since it loads the rest. Does nothing without the variable.
 */
import { createHash, randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import module from 'node:module';
import { join } from 'node:path';

const folder = process.env['BATON_CODE_CACHE'];
/** Removes comments. Loaded only where a file is not in the folder yet. */
const COMPACT = './without-comments.ts';
/** The hash of the code that changes code. */
const changers = [import.meta.filename, join(import.meta.dirname, COMPACT)]
  .reduce((all, file) => all.update(readFileSync(file)), createHash('sha256'))
  .digest();
const require = module.createRequire(import.meta.url);
// Experimental: without it, Node removes the types.
const { stripTypeScriptTypes } = module;

/** The parser that finds comments. It cannot be changed while it is being loaded. */
const PARSER = 'acorn';
const PACKAGE = /\/node_modules\/(?:@[^/]+\/)?([^/]+)\//;
const JAVASCRIPT = /\.[cm]?js$/;
/** A third of the files of packages are this long, in characters. They have nine tenths of the text. */
const LARGE = 4_096;
const utf8 = new TextDecoder();

if (folder && stripTypeScriptTypes) {
  module.registerHooks({
    load(url, context, next) {
      if (!url.startsWith('file:')) return next(url, context);
      const [, packageName] = PACKAGE.exec(url) ?? [];
      if (packageName === undefined) {
        if (!url.endsWith('.ts')) return next(url, context);
        const source = withoutTypes(readFileSync(new URL(url), 'utf8'), folder);
        return { format: 'module', source, shortCircuit: true };
      }
      if (packageName === PARSER || !JAVASCRIPT.test(url)) return next(url, context);
      const loaded = next(url, context);
      const source = typeof loaded.source === 'string' ? loaded.source : utf8.decode(loaded.source);
      if (source.length < LARGE) return loaded;
      const sourceType = loaded.format === 'module' ? 'module' : 'commonjs';
      return { ...loaded, source: withoutComments(source, sourceType, folder) };
    },
  });
}

/**
 * Returns TypeScript as JavaScript, from the folder `cache` if it is there. Types are replaced by spaces, so that positions in
 * stack traces stay the same.
 * @param {string} source
 * @param {string} cache
 * @returns {string}
 */
export function withoutTypes(source, cache) {
  return kept(cache, process.version + source, () => stripTypeScriptTypes(source));
}

/**
 * Returns JavaScript of a package without comments and indentation. What the parser does not understand stays as it is.
 * @param {string} source
 * @param {'module' | 'commonjs'} sourceType
 * @param {string} cache
 */
function withoutComments(source, sourceType, cache) {
  return kept(cache, sourceType + source, () => {
    const compact = /** @type {typeof import('./without-comments.ts')} */ (require(COMPACT));
    try {
      return compact.withoutComments(source, sourceType);
    } catch {
      return source;
    }
  });
}

/**
 * Returns what `make` returns, from a file that is named by the hash of what it is made from. A last line shows that the file
 * is complete: it may not be after a power failure.
 * @param {string} cache
 * @param {string} from
 * @param {() => string} make
 */
function kept(cache, from, make) {
  const hash = createHash('sha256').update(changers).update(from).digest('hex');
  const file = join(cache, `${hash}.js`);
  const end = `\n// ${hash}`;
  const known = readIfThere(file);
  if (known?.endsWith(end)) return known;
  const made = make() + end;
  keep(file, made, cache);
  return made;
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
