import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { jsonText, printable } from './output.ts';

/** A received callback or delivery. `body` is the parsed JSON, or the text if it is not JSON. */
export type ReceivedCallback = {
  receivedAt: Date;
  /** The execution id of a callback. */
  executionId: string | null;
  status: string | null;
  /** The event id of a delivery. */
  eventId: string | null;
  /** `X-Service-Event` and `X-Service-Delivery`. */
  event: string | null;
  delivery: string | null;
  /** True if the signature is valid; otherwise `reason` says why not. */
  verified: boolean;
  reason: string | null;
  /** The status that the receiver returned. */
  answered: number;
  bytes: number;
  body: unknown;
};

export type CallbackReceiver = { url: string; close(): Promise<void> };

type MaybePromise<T> = T | Promise<T>;

export type ReceiverOptions = {
  /** Default: 127.0.0.1. */
  host?: string;
  /** Default: a free port. */
  port?: number;
  /** PEM texts; without them the receiver uses plain HTTP. */
  cert?: string;
  key?: string;
  /** Secrets that may have signed callbacks and deliveries. */
  secrets?: readonly string[];
  /** Returns the secret of a run, if known; called if none of `secrets` matches. */
  secretFor?: (executionId: string) => MaybePromise<string | undefined>;
  onCallback: (callback: ReceivedCallback) => void;
};

const MAX_BODY_BYTES = 16 * 1_048_576;

/**
 * Starts a receiver for callbacks and deliveries. It reads the raw bytes, checks `X-Service-Signature` in constant
 * time, and returns 401 for an invalid signature and 204 for a valid one (docs/callbacks.md, docs/receiving.md).
 * During a rotation, the old secret signs in a separate header. Rejects if the port is taken or a certificate cannot
 * be read.
 */
export async function startReceiver(options: ReceiverOptions): Promise<CallbackReceiver> {
  const { host = '127.0.0.1', port = 0, cert, key } = options;
  const listener: RequestListener = (request, response) => {
    receive(request, response, options).catch(() => response.destroy());
  };
  const secure = cert !== undefined && key !== undefined;
  const server = secure ? createSecureServer({ cert, key }, listener) : createServer(listener);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  const shownHost = ['127.0.0.1', '::1', '0.0.0.0', '::'].includes(host) ? 'localhost' : host;
  const { port: taken } = server.address() as AddressInfo;
  return {
    url: `${secure ? 'https' : 'http'}://${shownHost}:${taken}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function receive(
  request: IncomingMessage,
  response: ServerResponse,
  options: ReceiverOptions,
): Promise<void> {
  if (request.method !== 'POST') return answer(response, 405, 'Send callbacks with POST', { allow: 'POST' });
  const body = await bytesOf(request);
  if (body === null) return answer(response, 413, 'The callback is too large', { connection: 'close' });
  const content = parsed(body);
  const executionId = fieldOf(content, 'execution_id');
  const signatures = ['x-service-signature', 'x-service-signature-previous']
    .map((name) => headerOf(request, name))
    .filter((value) => value !== null);
  const verdict = await verify(signatures, body, executionId, options);
  const answered = verdict === null ? 204 : 401;
  options.onCallback({
    receivedAt: new Date(),
    executionId,
    status: fieldOf(content, 'status'),
    eventId: executionId === null ? fieldOf(content, 'id') : null,
    event: headerOf(request, 'x-service-event'),
    delivery: headerOf(request, 'x-service-delivery'),
    verified: verdict === null,
    reason: verdict,
    answered,
    bytes: body.length,
    body: content,
  });
  return answer(response, answered, verdict);
}

/** Returns null if the signature is valid, otherwise the reason. */
async function verify(
  signatures: readonly string[],
  body: Buffer,
  executionId: string | null,
  { secrets = [], secretFor }: ReceiverOptions,
): Promise<string | null> {
  const fits = (secret: string) => signatures.some((signature) => isSignedWith(secret, signature, body));
  if (signatures.length === 0) return 'X-Service-Signature is missing';
  if (secrets.some(fits)) return null;
  const own = executionId === null ? undefined : await secretFor?.(executionId);
  if (own !== undefined && fits(own)) return null;
  if (own === undefined && secrets.length === 0) {
    return executionId === null
      ? 'the secret of this webhook is unknown'
      : 'the callback_secret of this run is unknown';
  }
  return 'the signature does not match the body and the secret';
}

/** Compares in constant time. The key is the UTF-8 bytes of the secret as text. */
function isSignedWith(secret: string, signature: string, body: Buffer): boolean {
  const expected = Buffer.from(`sha256=${createHmac('sha256', secret).update(body).digest('hex')}`);
  const given = Buffer.from(signature);
  return expected.length === given.length && timingSafeEqual(expected, given);
}

/** Returns the body; null if it is too large. */
async function bytesOf(request: IncomingMessage): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    return body.toString();
  }
}

function fieldOf(content: unknown, name: string): string | null {
  const value = content !== null && typeof content === 'object' ? Reflect.get(content, name) : null;
  return typeof value === 'string' ? value : null;
}

function headerOf(request: IncomingMessage, name: string): string | null {
  const value = request.headers[name];
  return typeof value === 'string' ? value : null;
}

function answer(
  response: ServerResponse,
  status: number,
  message: string | null,
  headers: Record<string, string> = {},
): void {
  if (message === null) response.writeHead(status, headers).end();
  else
    response
      .writeHead(status, { ...headers, 'content-type': 'text/plain; charset=utf-8' })
      .end(`${message}\n`);
}

/** Formats a callback or delivery: one line, and its body below. */
export function describeCallback(callback: ReceivedCallback): string {
  const { receivedAt, verified, reason, answered, bytes, body } = callback;
  const verdict = verified ? 'signature verified' : `REFUSED: ${reason}`;
  const what = printable(nameOf(callback));
  const line = `${receivedAt.toISOString()}  ${what}  ${verdict}  (${bytes} bytes, returned ${answered})`;
  // As JSON even if it is text, so that it cannot contain terminal control sequences.
  const text = jsonText(body, 2);
  return `${line}\n${text.replaceAll(/^/gm, '    ')}`;
}

function nameOf({ executionId, status, eventId, event, delivery }: ReceivedCallback): string {
  if (eventId !== null) return `${event ?? 'no event'} ${eventId} delivery ${delivery ?? 'without id'}`;
  return `${executionId ?? 'no execution_id'} ${status ?? 'no status'}`;
}
