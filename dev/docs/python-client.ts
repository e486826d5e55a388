import { globSync, readFileSync } from 'node:fs';
import { inCheckout } from '../common/paths.ts';

const PACKAGE = 'clients/python/src/baton_client';

/** What differs between asynchronous and synchronous code, in the order of the replacements. */
const REPLACEMENTS: readonly [pattern: RegExp, replacement: string][] = [
  [/\bAsyncGenerator\[(.+), None\]/g, 'Generator[$1, None, None]'],
  [/\bAwaitable\[str\]/g, 'str'],
  [/\bAwaitable, /g, ''],
  [/\b(async|await) /g, ''],
  [/\bAsync(?=[A-Z])/g, ''],
  [/\b_async\b/g, '_sync'],
  [/\b__a(iter|enter|exit)__/g, '__$1__'],
  [/\bimport asyncio\b/g, 'import time'],
  [/\basyncio\.sleep\b/g, 'time.sleep'],
  [/\basynccontextmanager\b/g, 'contextmanager'],
  [/\baclosing\b/g, 'closing'],
  [/\ba(close|read|iter_bytes)\b/g, '$1'],
];

/** Returns the synchronous form of asynchronous Python code of the client. */
export function synchronous(text: string): string {
  return REPLACEMENTS.reduce((result, [pattern, replacement]) => result.replace(pattern, replacement), text);
}

/** The synchronous modules of the Python client, each generated from its asynchronous one. */
export const SYNCHRONOUS_MODULES: readonly { path: string; make(): string }[] = globSync(
  `${PACKAGE}/_async/*.py`,
  {
    cwd: inCheckout(),
  },
)
  .toSorted()
  .map((path) => ({
    path: path.replace('/_async/', '/_sync/'),
    make() {
      const head = `# Generated from ${path.replace(`${PACKAGE}/`, '')} by dev/docs/main.ts.\n`;
      return head + synchronous(readFileSync(inCheckout(path), 'utf8'));
    },
  }));
