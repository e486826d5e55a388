import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { request, type IncomingMessage } from 'node:http';
import { allPages, partsOf } from '../../dev/docs/markdown.ts';
import { inCheckout } from '../../dev/common/paths.ts';
import { withServedLinks } from '../../src/api/docs/markdown-files.ts';
import { useWorld } from '../support/world.ts';

const SERVED = allPages().filter(({ path }) => /^(docs|skills)\//.test(path));

/** Returns the text of a page without the targets of its links. */
const textsOf = (page: string) => page.replaceAll(/!?\[([^\]]*)\]\([^)\s]+\)/g, '$1');
const linksIn = (page: string) =>
  partsOf(page).flatMap((part) => (part.kind === 'link' ? [part.target] : []));

describe('the documents for agents', () => {
  const paths = new Set(['llms.txt', ...SERVED.map(({ path }) => path)]);
  const world = useWorld();
  const get = (path: string, headers: Record<string, string> = {}) =>
    fetch(new URL(path, world.api.url), { headers });

  /** Returns the status of a request that is sent as it is: `fetch` normalizes paths and adds headers. */
  async function statusOf(path: string, headers: Record<string, string> = {}): Promise<number | undefined> {
    const { hostname, port } = new URL(world.api.url);
    const sent = request({ hostname, port, path, headers }).end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    response.resume();
    return response.statusCode;
  }

  it('have an index in the form of llmstxt.org, whose links work', async () => {
    const response = await get('/llms.txt', { Accept: 'text/html' });
    assert.equal(response.headers.get('content-type'), 'text/plain; charset=utf-8');
    const text = await response.text();
    const [head = '', ...sections] = text.split(/^## /m);
    assert.match(head, /^# Baton\n\n> \S.*\n\n(- .*\n)+\n$/);
    for (const section of sections) assert.match(section, /^.+\n\n(- \[[^\]]+\]\(\S+\): .+\n)+\n?$/);
    assert.ok(!text.includes('localhost:3000'), 'addresses are those of the service');
    const links = linksIn(text);
    assert.ok(links.length > 20);
    for (const link of links) {
      const { port, pathname } = new URL(link);
      assert.equal(port, new URL(world.api.url).port, link);
      const { status, headers } = await get(pathname);
      assert.equal(status, 200, link);
      assert.match(headers.get('content-type') ?? '', /^(text\/markdown; charset=utf-8|application\/json)/);
    }
  });

  it('are served as their files at their paths', async () => {
    assert.ok(SERVED.length > 60);
    for (const { path } of SERVED) {
      const response = await get(`/${path}`);
      assert.equal(response.headers.get('content-type'), 'text/markdown; charset=utf-8', path);
      const [text, file] = [await response.text(), readFileSync(inCheckout(path), 'utf8')];
      assert.equal(textsOf(text), textsOf(file), path);
      for (const target of linksIn(text)) {
        const { origin, pathname } = new URL(target, new URL(path, world.api.url));
        if (origin === new URL(world.api.url).origin)
          assert.ok(paths.has(pathname.slice(1)), `${path}: ${target}`);
      }
    }
  });

  it('contain only links to pages that are served', () => {
    const page =
      '[a](a.md#b) ![p](p.webp) [src](../src/a.ts) [b](#b) [up](../../README.md) [x](https://x.example/)';
    assert.equal(withServedLinks(page, '/docs/a.md'), '[a](a.md#b) p src [b](#b) up [x](https://x.example/)');
  });

  it('can be cached', async () => {
    const { headers } = await get('/docs/mcp.md');
    assert.equal(headers.get('cache-control'), 'public, max-age=3600');
    assert.equal(await statusOf('/docs/mcp.md', { 'If-None-Match': String(headers.get('etag')) }), 304);
    assert.equal(await statusOf('/docs/a2a.md', { 'If-None-Match': String(headers.get('etag')) }), 200);
  });

  it('contain no other files', async () => {
    for (const path of [
      '/docs/../README.md',
      '/docs/%2e%2e/README.md',
      '/docs/..%2fREADME.md',
      '/docs//mcp.md',
      '/docs/mcp.md/',
      '/docs/screens/runs-dark.webp',
      '/docs/none.md',
      '/docs/.md',
      '/docs/how-to.md',
      '/skills/submit-tasks',
      '/README.md',
      '/CHANGELOG.md',
    ]) {
      assert.equal(await statusOf(path), 404, path);
    }
  });
});
