import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import Koa from 'koa';
import { createScreens } from '../../src/api/web/screens.ts';
import { type Received, useWorld } from '../support/world.ts';
import { assertProblem } from '../api/problems.ts';

const PAGE = { Accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };

describe('screens that are not built', () => {
  it('report this at their own paths only', async () => {
    const app = new Koa();
    app.use(createScreens({ folder: '/nothing/here', baseUrl: 'http://localhost' }));
    const server = app.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const page = await fetch(`${url}/orchestration`);
    assert.equal(page.status, 503);
    assert.match(await page.text(), /The screens are not built/);
    assert.equal(await (await fetch(`${url}/api/v1/me`)).text(), 'Not Found');
    server.close();
  });
});

describe('the web interface', () => {
  const world = useWorld();

  const get = (path: string, headers: Record<string, string> = {}) =>
    world.send('GET', path, { key: null, headers });
  const policyOf = (received: Received) => received.headers.get('content-security-policy') ?? '';

  it('is served as one page at each of its paths', async () => {
    for (const path of [
      '/',
      '/sign-in',
      '/orchestration',
      '/orchestration/00000000-0000-7000-8000-000000000000',
      '/settings/integrations/webhooks/new',
      '/settings/members',
    ]) {
      const received = await get(path);
      assert.equal(received.status, 200, path);
      assert.match(received.headers.get('content-type') ?? '', /^text\/html/);
      assert.equal(received.headers.get('cache-control'), 'no-store');
      assert.ok(received.text.includes('id="screens"'));
    }
  });

  it('has a strict content security policy with a new nonce for each response', async () => {
    const [first, other] = [await get('/sign-in'), await get('/sign-in')];
    const nonceOf = (received: Received) => /'nonce-([\w+/=]+)'/.exec(policyOf(received))?.[1] ?? '';
    assert.notEqual(nonceOf(first), nonceOf(other));
    assert.ok(!/unsafe|\*|https?:|data:/.test(policyOf(first)), policyOf(first));
    assert.match(policyOf(first), /connect-src 'self' ws:\/\/127\.0\.0\.1:\d+;/);
    const scripts = [...first.text.matchAll(/<(script|style)\b[^>]*>/g)].map(([tag]) => tag);
    assert.ok(scripts.length >= 2);
    for (const tag of scripts) assert.ok(tag.includes(`nonce="${nonceOf(first)}"`), tag);
    assert.ok(!first.text.includes('NONCE-OF'));
  });

  it('has a policy that ignores a forged Host', async () => {
    const { request } = await import('node:http');
    const policy = await new Promise<string>((resolve, reject) => {
      const headers = { Host: "x; script-src 'unsafe-inline'" };
      request(`${world.api.url}/sign-in`, { headers }, (response) => {
        response.resume();
        resolve(String(response.headers['content-security-policy']));
      })
        .once('error', reject)
        .end();
    });
    assert.ok(!policy.includes('unsafe'), policy);
  });

  it('has immutable, compressed files', async () => {
    const page = await get('/orchestration');
    const files = [...page.text.matchAll(/(?:href|src)="(\/assets\/[^"]+)"/g)].map(([, file]) => file ?? '');
    assert.ok(files.length >= 3);
    for (const file of files) {
      const { headers, status } = await get(file, { 'Accept-Encoding': 'br' });
      assert.equal(status, 200, file);
      assert.equal(headers.get('cache-control'), 'public, max-age=31536000, immutable');
      assert.equal(headers.get('content-encoding'), 'br');
      assert.equal(headers.get('vary'), 'Accept-Encoding');
    }
    const tooLong = `/assets/${'x'.repeat(300)}.js`;
    for (const missing of ['/assets/nothing.js', '/assets/..%2findex.html', '/assets/.vite', tooLong]) {
      assert.equal((await get(missing)).status, 404, missing);
    }
  });

  it('returns 404 for unknown paths: a page for browsers, a problem for programs', async () => {
    const page = await get('/no-such-place', PAGE);
    assert.equal(page.status, 404);
    assert.ok(page.text.includes('id="screens"'));
    assertProblem(await get('/no-such-place'), 404, 'not_found');
    assertProblem(await get('/api/v1/no-such-place', PAGE), 404, 'not_found');
    assertProblem(await world.send('POST', '/orchestration', { key: null, headers: PAGE }), 404, 'not_found');
  });
});
