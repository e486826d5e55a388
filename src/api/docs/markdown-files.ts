import { createHash } from 'node:crypto';
import { join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Context } from 'koa';
import { readOrNull } from '../web/assets.ts';

/** The folder of the checkout or of the image. */
const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
/** Paths of pages and skills. The parts have no dots, so that none can leave the folders. */
const PAGE = /^\/(?:docs|skills)(?:\/[A-Za-z0-9_-]{1,100}){1,8}\.md$/;
/** The index for agents, in the format of llmstxt.org. */
const INDEX = '/llms.txt';
/** The base URL in the texts of the repository. */
const LOCAL_URL = 'http://localhost:3000';

/** A text with its media type. */
export type MarkdownFile = { type: 'text/markdown' | 'text/plain'; text: Buffer };

/** Returns whether a path can be that of a Markdown file. */
export function isMarkdownPath(path: string): boolean {
  return path === INDEX || PAGE.test(path);
}

/** Returns the file of a Markdown path; null if it does not exist. */
export async function readMarkdown(path: string, baseUrl: string): Promise<MarkdownFile | null> {
  const text = await readOrNull(join(ROOT, path));
  if (text === null) return null;
  return path === INDEX
    ? { type: 'text/plain', text: Buffer.from(withBase(text.toString('utf8'), baseUrl)) }
    : { type: 'text/markdown', text: Buffer.from(withServedLinks(text.toString('utf8'), path)) };
}

/**
 * Returns the page at `path` without the links and pictures that this service does not serve, such as source files. The
 * text of such a link stays.
 */
export function withServedLinks(page: string, path: string): string {
  return page.replaceAll(/!?\[([^\]]*)\]\(([^)\s]+)\)/g, (link, text: string, target: string) => {
    if (/^(?:[a-z]+:|#)/.test(target)) return link;
    const [file = ''] = target.split('#');
    return isMarkdownPath(posix.resolve(posix.dirname(path), file)) ? link : text;
  });
}

/** Returns an index whose links and addresses are those of this service. */
function withBase(index: string, baseUrl: string): string {
  return index
    .replaceAll(/\]\((?!https?:)([^)\s]+)\)/g, (_, path: string) => `](${baseUrl}/${path})`)
    .replaceAll(LOCAL_URL, baseUrl);
}

/** Sets the headers for caches. Returns whether the caller's copy is current, so that no body is needed. */
export function isCached(context: Context, { text }: MarkdownFile): boolean {
  context.set('Cache-Control', 'public, max-age=3600');
  context.etag = createHash('sha256').update(text).digest('base64url');
  context.status = 200;
  return context.fresh;
}
