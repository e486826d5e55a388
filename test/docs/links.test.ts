import assert from 'node:assert/strict';
import { existsSync, statSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { allPages, type Page } from '../../dev/docs/markdown.ts';
import { checkout } from '../../dev/common/paths.ts';

const pages = new Map(allPages().map((page) => [page.path, page]));

describe('links in the documents', () => {
  it('lead to existing files and headings', () => {
    const broken = [...pages.values()].flatMap((page) =>
      page.parts.flatMap((part) => {
        if (part.kind !== 'link') return [];
        const wrong = wrongWith(part.target, page);
        return wrong === null ? [] : [`${page.path}:${part.line}: ${part.target} ${wrong}`];
      }),
    );
    assert.deepEqual(broken, []);
  });

  it('lead from the index to every page', () => {
    const index = pages.get('docs/README.md');
    assert.ok(index, 'docs/README.md is missing');
    const linked = new Set(
      index.parts.flatMap((part) => (part.kind === 'link' ? [pathOf(part.target, index).path] : [])),
    );
    const unlinked = [...pages.keys()].filter(
      (path) =>
        path.startsWith('docs/') && !/^docs\/(README\.md|decisions\/)/.test(path) && !linked.has(path),
    );
    assert.deepEqual(unlinked, []);
  });
});

/** Returns the file that a link leads to, relative to the checkout, and the heading in it. */
function pathOf(target: string, from: Page): { path: string; anchor: string } {
  const [file = '', anchor = ''] = decodeURI(target).split('#');
  return {
    path: file === '' ? from.path : normalize(join(dirname(from.path), file)).replace(/\/$/, ''),
    anchor,
  };
}

function wrongWith(target: string, from: Page): string | null {
  if (/^[a-z][a-z0-9+.-]*:/i.test(target)) return null; // external: a test must not need the internet
  if (target.startsWith('/')) return 'begins at the root, which differs from reader to reader';
  const { path, anchor } = pathOf(target, from);
  if (!existsSync(join(checkout, path))) return 'leads nowhere';
  if (anchor === '') return null;
  if (!statSync(join(checkout, path)).isFile()) return 'names a heading of a folder';
  const headings =
    pages.get(path)?.parts.flatMap((part) => (part.kind === 'heading' ? [part.anchor] : [])) ?? [];
  return headings.includes(anchor) ? null : 'names a heading that is not there';
}
