import { readFile } from 'node:fs/promises';
import type { Context, Middleware } from 'koa';
import { CHANNEL_CODES } from '../../domain/channel/channel.ts';
import { PROBLEMS } from '../../domain/common/problem-codes.ts';
import type { Dependencies } from '../dependencies.ts';
import { openApiDocument } from '../http/openapi.ts';
import { Problem } from '../http/problem.ts';
import type { Route } from '../http/route.ts';
import { channelDocument } from './asyncapi.ts';
import { CHANNEL_STYLE, channelPage } from './channel-page.ts';
import { isCached, isMarkdownPath, readMarkdown } from './markdown-files.ts';

const PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Baton API</title>
    <link rel="stylesheet" href="/docs/swagger-ui.css">
    <link rel="icon" href="/docs/favicon-32x32.png">
  </head>
  <body>
    <p class="elsewhere"><a href="/docs/channel">Live channel</a></p>
    <div id="page"></div>
    <script src="/docs/swagger-ui-bundle.js"></script>
    <script src="/docs/page.js"></script>
  </body>
</html>
`;

const SCRIPT = `SwaggerUIBundle({
  url: '/api/v1/openapi.json',
  dom_id: '#page',
  deepLinking: true,
  validatorUrl: null,
  layout: 'BaseLayout',
});
`;

/** Allows no external resources and no inline scripts or styles. The icons are data URLs. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ');

/** Read once: each request for a file of more than a megabyte would need that memory until its client has read it. */
const FILES: Readonly<Record<string, { type: string; address: string }>> = {
  '/docs/swagger-ui.css': {
    type: 'text/css',
    address: import.meta.resolve('swagger-ui-dist/swagger-ui.css'),
  },
  '/docs/swagger-ui-bundle.js': {
    type: 'text/javascript',
    address: import.meta.resolve('swagger-ui-dist/swagger-ui-bundle.js'),
  },
  '/docs/favicon-32x32.png': {
    type: 'image/png',
    address: import.meta.resolve('swagger-ui-dist/favicon-32x32.png'),
  },
};

/**
 * Serves the OpenAPI and AsyncAPI documents, their pages at `/docs` and `/docs/channel`, which need no other server,
 * the descriptions that the `type` of a problem refers to, and for agents `/llms.txt` and the Markdown files of `docs/` and
 * `skills/`.
 */
export function createDocsPages(deps: Pick<Dependencies, 'baseUrl'>, routes: readonly Route[]): Middleware {
  let document: string | undefined;
  let channel: { document: string; page: string } | undefined;
  const files = new Map<string, Promise<Buffer>>();

  /** Returns the description of the live channel as a document and as a page. */
  function describeChannel() {
    const described = channelDocument(deps.baseUrl);
    return { document: JSON.stringify(described), page: channelPage(described) };
  }

  return async function serveDocs(context: Context, next) {
    if (context.method !== 'GET' && context.method !== 'HEAD') return await next();
    const { path } = context;
    const file = Object.hasOwn(FILES, path) ? FILES[path] : undefined;
    if (path === '/api/v1/openapi.json') {
      document ??= JSON.stringify(openApiDocument(routes, deps.baseUrl));
      return show(context, 'application/json', document);
    }
    if (path === '/docs' || path === '/docs/') return show(context, 'text/html', PAGE);
    if (path === '/asyncapi.json')
      return show(context, 'application/json', (channel ??= describeChannel()).document);
    if (path === '/docs/channel' || path === '/docs/channel/')
      return show(context, 'text/html', (channel ??= describeChannel()).page);
    if (path === '/docs/channel.css') return show(context, 'text/css', CHANNEL_STYLE);
    if (path === '/docs/page.js') return show(context, 'text/javascript', SCRIPT);
    if (file) {
      context.set('Cache-Control', 'public, max-age=3600');
      const bytes = files.get(path) ?? readFile(new URL(file.address));
      files.set(path, bytes);
      return show(context, file.type, await bytes);
    }
    if (path.startsWith('/problems/'))
      return show(context, 'text/plain', problemText(path.slice('/problems/'.length)));
    const markdown = isMarkdownPath(path) ? await readMarkdown(path, deps.baseUrl) : null;
    if (markdown === null) return await next();
    if (isCached(context, markdown)) context.status = 304;
    else show(context, markdown.type, markdown.text);
  };
}

function show(context: Context, type: string, body: string | Buffer): void {
  context.status = 200;
  context.body = body;
  context.type = type;
  context.set('Content-Security-Policy', POLICY);
}

function problemText(code: string): string {
  if (Object.hasOwn(PROBLEMS, code)) {
    const { title, status } = PROBLEMS[code as keyof typeof PROBLEMS];
    return `${code}\n\n${title}. HTTP status ${status}.\n`;
  }
  if (!Object.hasOwn(CHANNEL_CODES, code)) throw new Problem('not_found', 'No problem has this code.');
  return `${code}\n\n${CHANNEL_CODES[code as keyof typeof CHANNEL_CODES]} Code of the live channel.\n`;
}
