import type { Payload, PayloadCodec } from '@temporalio/common';
import type { Context, Middleware } from 'koa';
import getRawBody from 'raw-body';
import { hasRole } from '../../domain/people/access.ts';
import { MAX_CODEC_BODY_BYTES } from '../../domain/common/limits.ts';
import { findActiveSession, recordSessionUse } from '../../database/people/sessions.ts';
import { hashOfSecret } from '../../security/keys.ts';
import { isSameSecret } from '../../security/same-secret.ts';
import { isFromOwnPage, sessionCookieName } from '../../security/sessions.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Gate } from '../http/admit.ts';
import { networkOf } from '../http/client-address.ts';
import { createUsageRecorder } from '../http/usage-recorder.ts';
import { Problem } from '../http/problem.ts';
import { spend } from '../http/rate-limit.ts';
import { isPayloadList, toJson, toPayload, type JsonPayload } from './payloads.ts';

type CodecDependencies = Pick<
  Dependencies,
  'database' | 'baseUrl' | 'temporalUi' | 'codec' | 'clock' | 'log'
> &
  Pick<Gate, 'limiters'>;

const PATH = /^\/codec\/(decode|encode)$/;

/**
 * Creates the codec server of Temporal's tools: `POST /codec/decode` and `/codec/encode` with `{ payloads }`. The Web
 * UI uses it in the browser of a signed-in admin, the command line with the token. Does nothing if payloads are not
 * encrypted.
 */
export function createCodecServer({ codec, limiters, ...deps }: CodecDependencies): Middleware {
  const { database, clock, log } = deps;
  const onSessionUsed = createUsageRecorder(
    (id, at) => recordSessionUse(database, id, at),
    clock,
    (error) => log.warn({ err: error }, 'recording session use failed'),
  );
  return async function serveCodec(context, next) {
    const [, work] = PATH.exec(context.path) ?? [];
    if (codec === null || work === undefined) return await next();
    allowWebUi(context, deps.temporalUi?.url ?? null);
    if (context.method === 'OPTIONS') {
      context.status = 204;
      return;
    }
    if (context.method !== 'POST') {
      throw new Problem('method_not_allowed', 'Allowed methods: OPTIONS, POST.', {
        headers: { Allow: 'OPTIONS, POST' },
      });
    }
    spend(context, limiters.address, networkOf(context.ip));
    const sessionId = await checkCaller(context, deps, codec.token);
    if (sessionId !== null) onSessionUsed(sessionId);
    const isThere = context.req.complete;
    const payloads = await readPayloads(context);
    // The rest of a body can arrive long after its headers.
    if (!isThere) await checkCaller(context, deps, codec.token);
    const done =
      work === 'encode'
        ? await codec.payloads.encode(payloads)
        : await decryptReadable(codec.payloads, payloads);
    context.type = 'application/json';
    context.body = JSON.stringify({ payloads: done.map(toJson) });
  };
}

/** Allows only pages of the Web UI to read the responses (Fetch Standard, CORS). */
function allowWebUi(context: Context, uiUrl: string | null): void {
  context.vary('Origin');
  const origin = context.get('Origin');
  if (uiUrl === null || origin === '' || origin !== new URL(uiUrl).origin) return;
  context.set({
    'Access-Control-Allow-Origin': origin,
    'Access-Control-Allow-Credentials': 'true',
    'Access-Control-Allow-Methods': 'POST',
    'Access-Control-Allow-Headers': 'Authorization, Content-Type, X-Namespace',
    'Access-Control-Max-Age': '600',
  });
}

/**
 * Returns the id of the caller's session; null with the token.
 * @throws Problem `unauthenticated`, or `forbidden` for users who are not admins and for pages of other origins
 */
async function checkCaller(
  context: Context,
  { database, baseUrl, temporalUi }: Omit<CodecDependencies, 'codec' | 'limiters'>,
  token: string | null,
): Promise<string | null> {
  const [, bearer] = /^Bearer +(\S+)$/i.exec(context.get('Authorization').trim()) ?? [];
  if (bearer !== undefined && token !== null && isSameSecret(bearer, token)) return null;
  const cookie = context.cookies.get(sessionCookieName(baseUrl));
  const session = cookie ? await findActiveSession(database, hashOfSecret(cookie)) : null;
  if (!session) {
    throw new Problem('unauthenticated', 'Sign in to Baton as an admin in this browser, or send the token.', {
      headers: { 'WWW-Authenticate': 'Bearer realm="baton codec"' },
    });
  }
  const origin = context.get('Origin') || undefined;
  const isWebUi = temporalUi !== null && origin === new URL(temporalUi.url).origin;
  if (!isWebUi && !isFromOwnPage(baseUrl, context.headers)) {
    throw new Problem('forbidden', 'This page cannot use the session. Set TEMPORAL_UI_URL to its address.');
  }
  if (!hasRole(session.role, 'admin')) throw new Problem('forbidden', 'Requires the role admin or higher.');
  return session.id;
}

/** Decrypts payloads. A payload whose key is missing is returned encrypted, so that the others can still be read. */
async function decryptReadable(codec: PayloadCodec, payloads: Payload[]): Promise<Payload[]> {
  return await Promise.all(
    payloads.map(async (payload) => {
      const [plain = payload] = await codec.decode([payload]).catch(() => []);
      return plain;
    }),
  );
}

async function readPayloads(context: Context): Promise<Payload[]> {
  const text = await getRawBody(context.req, { limit: MAX_CODEC_BODY_BYTES, encoding: 'utf8' }).catch(() => {
    throw new Problem('payload_too_large', `The body must be at most ${MAX_CODEC_BODY_BYTES} bytes.`, {
      headers: { Connection: 'close' },
    });
  });
  let body: { payloads?: unknown } | null;
  try {
    body = JSON.parse(text) as { payloads?: unknown } | null;
  } catch {
    throw new Problem('malformed_json', 'The body is not valid JSON.');
  }
  if (isPayloadList(body?.payloads)) return body.payloads.map((one: JsonPayload) => toPayload(one));
  throw new Problem(
    'bad_request',
    'The body must be { "payloads": [{ "metadata", "data" }] } with base64 values.',
  );
}
