import type { Context } from 'koa';
import type { Database } from '../../database/database.ts';
import { recordKeyUse } from '../../database/people/keys.ts';
import type { KeyCache } from '../../database/people/key-cache.ts';
import { findActiveSession, recordSessionUse } from '../../database/people/sessions.ts';
import { hashOfSecret, looksLikeKey } from '../../security/keys.ts';
import { isFromOwnPage, sessionCookieName } from '../../security/sessions.ts';
import { TokenError, type Tokens } from '../../security/tokens.ts';
import type { Caller, KeyCaller, PersonCaller, TokenCaller } from './caller.ts';
import { keyCaller, personCaller, tokenCaller } from './known-callers.ts';
import { createUsageRecorder } from './usage-recorder.ts';
import { Problem } from './problem.ts';

const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS']);

type Dependencies = {
  database: Database;
  knownKeys: KeyCache;
  tokens: Tokens;
  baseUrl: string;
  clock: () => Date;
  onError: (error: unknown) => void;
};

/** Identifies the caller by `X-API-Key`, by a bearer JWT, or by the session cookie, in this order. */
export function createAuthentication({ database, knownKeys, tokens, baseUrl, clock, onError }: Dependencies) {
  const onKeyUsed = createUsageRecorder((id, at) => recordKeyUse(database, id, at), clock, onError);
  const onSessionUsed = createUsageRecorder((id, at) => recordSessionUse(database, id, at), clock, onError);
  const cookieName = sessionCookieName(baseUrl);

  async function byKey(given: string): Promise<KeyCaller> {
    const key = looksLikeKey(given) ? await knownKeys.find(hashOfSecret(given)) : null;
    if (!key) throw unauthenticated('The API key is unknown, revoked or expired.');
    onKeyUsed(key.id);
    return keyCaller(key);
  }

  async function byToken(token: string): Promise<TokenCaller> {
    if (looksLikeKey(token)) throw unauthenticated('Send an API key in the header X-API-Key.');
    const claims = await tokens.verify(token).catch((error: unknown) => {
      throw error instanceof TokenError
        ? unauthenticated(`${capital(error.message)}.`, 'invalid_token')
        : error;
    });
    const caller = await tokenCaller(database, claims);
    if (!caller) throw unauthenticated('The subject of the token no longer exists.', 'invalid_token');
    return caller;
  }

  async function byCookie(context: Context, value: string): Promise<PersonCaller> {
    const session = await findActiveSession(database, hashOfSecret(value));
    if (!session) throw unauthenticated('The session has ended. Sign in again.');
    if (!SAFE_METHODS.has(context.method) && !isFromOwnPage(baseUrl, context.headers)) {
      throw new Problem(
        'forbidden',
        'Changes with a session cookie are only allowed from pages of this service (header Origin).',
      );
    }
    onSessionUsed(session.id);
    return personCaller(session);
  }

  /**
   * Returns the caller; null without a credential.
   * @throws Problem `unauthenticated` for an invalid credential, `bad_request` for contradictory credentials
   */
  return async function authenticate(context: Context): Promise<Caller | null> {
    const key = context.get('X-API-Key');
    const authorization = context.get('Authorization');
    const byHeader = key === '' ? null : await byKey(key);
    const byBearer = authorization === '' ? null : await byToken(bearerOf(authorization));
    if (byHeader && byBearer && byHeader.projectId !== byBearer.projectId) {
      throw new Problem(
        'bad_request',
        'The API key and the token are for different projects. Send only one of them.',
      );
    }
    if (byHeader ?? byBearer) return byHeader ?? byBearer;
    const cookie = context.cookies.get(cookieName);
    return cookie ? await byCookie(context, cookie) : null;
  };
}

export type Authenticate = ReturnType<typeof createAuthentication>;

/** Returns a 401 with the challenge that RFC 9110, section 11.6.1, requires. */
export function unauthenticated(detail: string, error?: 'invalid_token'): Problem {
  const reason = error ? `, error="${error}", error_description="${detail}"` : '';
  return new Problem('unauthenticated', detail, {
    headers: {
      'WWW-Authenticate': `Bearer realm="baton"${reason}, ApiKey realm="baton", header="X-API-Key"`,
    },
  });
}

function bearerOf(authorization: string): string {
  const token = /^Bearer +([^\s]+)$/i.exec(authorization.trim())?.[1];
  if (token === undefined)
    throw unauthenticated('The header Authorization must be "Bearer" followed by a token.');
  return token;
}

function capital(sentence: string): string {
  return sentence.charAt(0).toUpperCase() + sentence.slice(1);
}
