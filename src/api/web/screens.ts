import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { Context, Middleware } from 'koa';
import { createAssets, readOrNull, type Encoding } from './assets.ts';
import { policyFor, socketOrigin, withNonce } from './policy.ts';

/** First path segments of other parts of the service. */
const RESERVED = new Set(['.well-known', 'a2a', 'api', 'docs', 'health', 'problems', 'skills', 'ws']);
/** First path segments of the screens. Unknown paths get the page with 404. */
const SCREENS = new Set(['', 'sign-in', 'orchestration', 'settings', 'invitation']);

const NOT_BUILT = `<!doctype html>
<html lang="en">
  <head><meta charset="utf-8"><title>Baton</title></head>
  <body>
    <h1>The screens are not built</h1>
    <p>The service is running, but the folder of its screens is empty. <code>npm start</code> builds them.</p>
    <p>The <a href="/docs">API and its documentation</a> are available.</p>
  </body>
</html>
`;

/**
 * Serves the built screens: their hashed files, and one page for all their paths, which selects the screen in the
 * browser. Paths of the API, the documents and the live channel are passed on.
 */
export function createScreens({ folder, baseUrl }: { folder: string; baseUrl: string }): Middleware {
  const assetNamed = createAssets(folder);

  return async function serveScreens(context: Context, next) {
    if (context.method !== 'GET' && context.method !== 'HEAD') return await next();
    const [first = '', ...rest] = context.path.slice(1).split('/');
    if (RESERVED.has(first)) return await next();
    if (first === 'assets' && rest.length === 1) return await serveAsset(context, rest[0] ?? '');
    const isScreen = SCREENS.has(first);
    if (!isScreen && !wantsPage(context)) return await next();
    await servePage(context, isScreen ? 200 : 404);
  };

  async function serveAsset(context: Context, name: string): Promise<void> {
    const asset = await assetNamed(name);
    if (!asset) {
      context.status = 404;
      context.type = 'text/plain';
      context.body = 'This file does not exist in this build.\n';
      return;
    }
    const encoding = (context.acceptsEncodings('br', 'gzip', 'identity') || 'identity') as Encoding;
    context.status = 200;
    context.body = asset.bytes[encoding];
    context.set({
      'Content-Type': asset.type,
      // The name changes with the content.
      'Cache-Control': 'public, max-age=31536000, immutable',
      Vary: 'Accept-Encoding',
      ...(encoding === 'identity' ? {} : { 'Content-Encoding': encoding }),
    });
  }

  async function servePage(context: Context, status: number): Promise<void> {
    const page = await readOrNull(join(folder, 'index.html'));
    if (page === null) {
      context.status = 503;
      context.type = 'text/html';
      context.body = NOT_BUILT;
      return;
    }
    const nonce = randomBytes(16).toString('base64');
    context.status = status;
    context.type = 'text/html';
    context.set('Content-Security-Policy', policyFor(nonce, socketOrigin(baseUrl, context.host)));
    context.body = withNonce(page.toString('utf8'), nonce);
  }
}

/** Returns true for a browser that opens a page, not for a client that accepts anything. */
function wantsPage(context: Context): boolean {
  return /\btext\/html\b/.test(context.get('Accept'));
}
