import {
  createRemoteJWKSet,
  customFetch,
  decodeProtectedHeader,
  errors,
  jwtVerify,
  SignJWT,
  type JWTPayload,
  type JWTVerifyGetKey,
} from 'jose';
import { SCOPES, type Scope, type TokenClaims, type TokenSubject } from '../domain/people/access.ts';
import { TOKEN_SECONDS } from '../domain/common/limits.ts';
import { isStorableText } from '../domain/common/text.ts';
import type { KeyRing } from './key-ring.ts';

const ISSUER = 'baton';
const OWN_ALGORITHM = 'HS256';
/**
 * Algorithms that are accepted from an external provider: asymmetric ones only, so never `none` and never a shared
 * secret.
 */
const EXTERNAL_ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
];

/** An invalid or expired token. The code is also sent to clients of the live channel. */
export class TokenError extends Error {
  override name = 'TokenError';
  readonly code: 'token_invalid' | 'token_expired';
  constructor(code: 'token_invalid' | 'token_expired', message: string) {
    super(message);
    this.code = code;
  }
}

/** The keys of the external provider cannot be read, which says nothing about the token. */
export class ProviderUnreachable extends Error {
  override name = 'ProviderUnreachable';
}

/** The external provider whose JWTs are accepted. */
export type IdentityProvider = {
  jwksUrl: string;
  issuer: string;
  audience: string;
  projectClaim: string;
  scopeClaim: string;
};

/** The external provider, with the fetch that reads its keys and limits responses. */
export type ExternalProvider = IdentityProvider & { fetch: typeof globalThis.fetch };

export type Tokens = {
  /** Returns a JWT for one project, valid for 15 minutes. */
  issue(claims: {
    subject: TokenSubject;
    workspaceId: string;
    projectId: string;
    scopes: readonly Scope[];
    /** The session that creates it, with which it ends; null for a key. */
    sessionId: string | null;
  }): Promise<{
    token: string;
    expiresAt: Date;
  }>;
  /** @throws TokenError */
  verify(token: string): Promise<TokenClaims>;
};

/**
 * Creates the issuer and verifier of tokens. Signs with the first key and verifies with any key, selected by `kid`.
 * Other tokens are verified with the external provider, if configured.
 */
export function createTokens(ring: KeyRing, provider: ExternalProvider | null, clock: () => Date): Tokens {
  const outside = provider && createExternalVerifier(provider, clock);
  return {
    async issue({ subject, workspaceId, projectId, scopes, sessionId }) {
      const seconds = Math.floor(clock().getTime() / 1_000);
      const token = await new SignJWT({
        workspace_id: workspaceId,
        project_id: projectId,
        scope: scopes.join(' '),
        ...(sessionId === null ? {} : { sid: sessionId }),
      })
        .setProtectedHeader({ alg: OWN_ALGORITHM, typ: 'JWT', kid: ring.first.id })
        .setIssuer(ISSUER)
        .setAudience(ISSUER)
        .setSubject(subject)
        .setIssuedAt(seconds)
        .setExpirationTime(seconds + TOKEN_SECONDS)
        .sign(ring.first.bytes);
      return { token, expiresAt: new Date((seconds + TOKEN_SECONDS) * 1_000) };
    },
    async verify(token) {
      try {
        const { alg, kid } = decodeProtectedHeader(token);
        const key = alg === OWN_ALGORITHM && typeof kid === 'string' ? ring.find(kid) : undefined;
        if (key) return await verifyOwn(token, key, clock());
        if (outside) return await outside(token);
      } catch (error) {
        throw asTokenError(error);
      }
      throw new TokenError('token_invalid', 'the token is signed with an unknown key');
    },
  };
}

async function verifyOwn(token: string, key: Uint8Array, now: Date): Promise<TokenClaims> {
  const { payload } = await jwtVerify(token, key, {
    algorithms: [OWN_ALGORITHM],
    issuer: ISSUER,
    audience: ISSUER,
    requiredClaims: ['exp', 'sub', 'workspace_id', 'project_id', 'scope'],
    currentDate: now,
  });
  return {
    origin: 'own',
    subject: payload.sub as TokenSubject,
    workspaceId: textClaim(payload, 'workspace_id'),
    projectId: textClaim(payload, 'project_id'),
    scopes: scopesOf(payload['scope']),
    sessionId: typeof payload['sid'] === 'string' ? payload['sid'] : null,
    expiresAt: new Date((payload.exp ?? 0) * 1_000),
  };
}

function createExternalVerifier(provider: ExternalProvider, clock: () => Date) {
  const keys = createRemoteJWKSet(new URL(provider.jwksUrl), {
    timeoutDuration: 3_000,
    [customFetch]: provider.fetch,
  });
  const keyOf: JWTVerifyGetKey = async (header, token) => {
    try {
      return await keys(header, token);
    } catch (error) {
      if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys)
        throw error;
      throw new ProviderUnreachable('cannot read the keys of the identity provider', { cause: error });
    }
  };
  return async (token: string): Promise<TokenClaims> => {
    const { payload } = await jwtVerify(token, keyOf, {
      algorithms: EXTERNAL_ALGORITHMS,
      issuer: provider.issuer,
      audience: provider.audience,
      requiredClaims: ['exp', 'sub', provider.projectClaim],
      currentDate: clock(),
    });
    return {
      origin: 'outside',
      subject: textClaim(payload, 'sub'),
      projectId: textClaim(payload, provider.projectClaim).toLowerCase(),
      scopes: scopesOf(payload[provider.scopeClaim]),
      expiresAt: new Date((payload.exp ?? 0) * 1_000),
    };
  };
}

/** Returns the scopes from a text with spaces (RFC 8693, section 4.2) or a list. Unknown scopes are ignored. */
function scopesOf(claim: unknown): Scope[] {
  const words: unknown[] = typeof claim === 'string' ? claim.split(' ') : Array.isArray(claim) ? claim : [];
  return SCOPES.filter((scope) => words.includes(scope));
}

function textClaim(payload: JWTPayload, name: string): string {
  const value = payload[name];
  if (typeof value !== 'string')
    throw new TokenError('token_invalid', `the claim ${name} of the token must be a string`);
  // The subject is stored with what the token creates.
  if (!isStorableText(value))
    throw new TokenError('token_invalid', `the claim ${name} of the token contains invalid characters`);
  return value;
}

function asTokenError(error: unknown): unknown {
  if (error instanceof errors.JWTExpired) return new TokenError('token_expired', 'the token has expired');
  if (!(error instanceof errors.JOSEError || error instanceof TypeError)) return error;
  return new TokenError('token_invalid', 'the token is not valid');
}
