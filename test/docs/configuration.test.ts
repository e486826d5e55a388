import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { environmentSchema } from '../../src/runtime/configuration.ts';
import { inCheckout } from '../../dev/common/paths.ts';

/** One variable in the page. `value` is the content of its default cell. */
type Documented = { section: string; name: string; value: string };

const OF_THE_PROCESSES = 'The processes';
/** Variables of the system, and variables that the service's programs set for each other. */
const NOT_OURS = /^(HOME|PATH|TERM|COLUMNS|CI|NODE_ENV|TMPDIR|npm_\w+|BATON_TEST_SERVICES)$/;
const READ_IN_CODE = /\b(?:env|environment)(?:\.|\[')([A-Z][A-Z0-9_]{2,})\b/g;

const documented = rowsOf(readFileSync(inCheckout('docs', 'configuration.md'), 'utf8'));
const sources = globSync('{src,workers,cli,dev}/**/*.{ts,mjs}', {
  cwd: inCheckout(),
  exclude: ['**/node_modules/**'],
}).map((file) => ({
  file,
  text: readFileSync(inCheckout(file), 'utf8'),
}));
const names = new Set(documented.map(({ name }) => name));

describe('docs/configuration.md', () => {
  it('lists every variable that the processes read', () => {
    const missing = Object.keys(environmentSchema.shape).filter((name) => !names.has(name));
    assert.deepEqual(missing, []);
  });

  it('lists every variable that our other programs read', () => {
    const read = sources.flatMap(({ file, text }) =>
      [...text.matchAll(READ_IN_CODE)].map(([, name = '']) => `${name} (${file})`),
    );
    const missing = read.filter((found) => {
      const [name = ''] = found.split(' ');
      return !names.has(name) && !NOT_OURS.test(name);
    });
    assert.deepEqual([...new Set(missing)], []);
  });

  it('lists no variable that no process reads', () => {
    const unread = documented
      .filter(({ section, name }) => section === OF_THE_PROCESSES && !(name in environmentSchema.shape))
      .filter(({ name }) => !sources.some(({ text }) => text.includes(name)))
      .map(({ name }) => name);
    assert.deepEqual(unread, []);
  });

  it('states the actual defaults', () => {
    const wrong = documented.flatMap(({ section, name, value }) => {
      if (section !== OF_THE_PROCESSES || !(name in environmentSchema.shape)) return [];
      const wanted = defaultOf(name);
      return wanted(value) ? [] : [`${name}: ${value}`];
    });
    assert.deepEqual(wrong, []);
  });
});

/** Returns whether a cell contains the default of a variable. */
function defaultOf(name: string): (cell: string) => boolean {
  const read = environmentSchema.shape[name as keyof typeof environmentSchema.shape]?.safeParse(undefined);
  if (read === undefined || !read.success) return (cell) => cell.startsWith('required');
  const value: unknown = read.data;
  if (value === undefined || value === '' || (Array.isArray(value) && value.length === 0)) {
    // A description, a pattern, or another variable; without a value, because there is none.
    return (cell) => cell !== '' && (!/^`[^`<]*`$/.test(cell) || names.has(cell.slice(1, -1)));
  }
  return (cell) => cell === `\`${value as string | number}\``;
}

/** Returns the variables in the tables of the page. */
function rowsOf(markdown: string): Documented[] {
  let section = '';
  return markdown.split('\n').flatMap((line) => {
    section = /^## (.+)$/.exec(line)?.[1] ?? section;
    const cells = line.split('|').map((cell) => cell.trim());
    const found = [...(cells[1] ?? '').matchAll(/`([A-Z][A-Z0-9_]+)`/g)].map(([, name = '']) => name);
    return line.startsWith('|') ? found.map((name) => ({ section, name, value: cells[2] ?? '' })) : [];
  });
}
