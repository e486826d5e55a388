import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import type { Context } from 'koa';
import getRawBody from 'raw-body';
import { MAX_BODY_BYTES } from '../../domain/common/limits.ts';
import { beginTurn } from '../../domain/common/turn.ts';
import { Problem } from './problem.ts';

/** How much of an oversized body is read and discarded, so that the client can read the response. */
const DRAIN_BYTES = 16 * MAX_BODY_BYTES;
const DRAIN_MS = 2_000;

/** A body: its text without a byte order mark, its parsed value, and its media type. */
export type JsonBody = { text: string; value: unknown; mediaType: string };

/**
 * Returns the request body, which must be JSON in one of the media types; undefined without a body. Parsing a body of 1 MiB can
 * take tens of milliseconds, and its validation as long, so a turn of the event loop ends between them.
 * @throws Problem `unsupported_media_type`, `payload_too_large`, `malformed_json`
 */
export async function readJson(
  context: Context,
  mediaTypes: readonly string[] = ['application/json'],
): Promise<JsonBody | undefined> {
  const body = await readText(context, mediaTypes);
  if (body === undefined) return undefined;
  const turn = beginTurn();
  const value = parse(body.text);
  if (turn.isOver()) await turn.next();
  return { ...body, value };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Problem('malformed_json', 'The body is not valid JSON.');
  }
}

/**
 * Returns the text of the request body, in one of the media types; undefined without a body.
 * @throws Problem `unsupported_media_type`, `payload_too_large`, `malformed_json` if it is not UTF-8
 */
export async function readText(
  context: Context,
  mediaTypes: readonly string[] = ['application/json'],
): Promise<Omit<JsonBody, 'value'> | undefined> {
  const { req } = context;
  if (req.headers['transfer-encoding'] === undefined && Number(req.headers['content-length'] ?? 0) === 0) {
    return undefined;
  }
  const stated = context.get('Content-Type') === '' ? null : mediaTypeOf(context, mediaTypes);
  const bytes = await readBytes(req);
  // A chunked request can be empty.
  if (bytes.length === 0) return undefined;
  const mediaType = stated ?? mediaTypeOf(context, mediaTypes);
  if (!isUtf8(bytes)) throw new Problem('malformed_json', 'The body is not valid UTF-8.');
  // A byte order mark is not part of the text (RFC 8259, section 8.1 allows a parser to ignore it).
  return { text: bytes.toString('utf8').replace(/^\uFEFF/, ''), mediaType };
}

function mediaTypeOf(context: Context, allowed: readonly string[]): string {
  const encoding = context.get('Content-Encoding').toLowerCase();
  if (encoding !== '' && encoding !== 'identity') {
    throw new Problem('unsupported_media_type', 'The body must not have a content encoding.');
  }
  // Most requests, without a parser of media types and their parameters.
  const plain = context.get('Content-Type');
  if (allowed.includes(plain)) return plain;
  const charset = context.request.charset.toLowerCase();
  const given = context.request.is([...allowed]);
  if (given && ['', 'utf-8', 'utf8'].includes(charset)) return given;
  throw new Problem('unsupported_media_type', `The body must be ${allowed.join(' or ')} in UTF-8.`, {
    headers: { Accept: allowed.join(', ') },
  });
}

async function readBytes(request: IncomingMessage): Promise<Buffer> {
  try {
    return await getRawBody(request, {
      length: request.headers['content-length'] ?? null,
      limit: MAX_BODY_BYTES,
    });
  } catch (error) {
    const { type } = error as { type?: string };
    if (type === 'entity.too.large') {
      await drain(request);
      throw new Problem('payload_too_large', `The body must be at most ${MAX_BODY_BYTES} bytes.`, {
        headers: { Connection: 'close' },
      });
    }
    throw new Problem('bad_request', 'The body is incomplete.', {
      headers: { Connection: 'close' },
      cause: error,
    });
  }
}

/**
 * Reads and discards the rest of the body for a limited time. If a server closes the connection while the client
 * still sends, the connection is reset and the response is lost.
 */
function drain(request: IncomingMessage): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let read = 0;
  const count = (chunk: Buffer) => {
    read += chunk.length;
    if (read > DRAIN_BYTES) resolve();
  };
  const timer = setTimeout(resolve, DRAIN_MS);
  request.on('data', count).once('end', resolve).once('close', resolve).resume();
  return promise.finally(() => {
    clearTimeout(timer);
    request.off('data', count).pause();
  });
}
