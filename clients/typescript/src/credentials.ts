/** Returns a token of `POST /api/v1/tokens`. The client calls it again whenever it needs a newer token. */
export type TokenSource = () => string | Promise<string>;

/** A token with its remaining lifetime in milliseconds. `null` if the token has no expiry. */
export type TimedToken = { token: string; lifetimeMs: number | null };

/** Authenticates the requests of a client, by an API key or by tokens. */
export type Credentials = {
  /** Returns the headers that authenticate a request. */
  headers(): Promise<Record<string, string>>;
  /** Returns a new token of the caller's source. Returns null for an API key, which has to create its tokens. */
  freshToken(): Promise<TimedToken | null>;
  /** Discards a credential that was rejected. `rejected` is what {@link headers} returned. Returns true if a retry may use a newer one. */
  discard(rejected: Record<string, string>): boolean;
};

/** A token is renewed after this share of its lifetime. */
export const RENEWAL_SHARE = 2 / 3;

/**
 * Creates the credentials of a client.
 * @throws TypeError unless there is either a key or a token
 */
export function createCredentials(
  { apiKey, token }: { apiKey?: string | undefined; token?: string | TokenSource | undefined },
  now: () => number = Date.now,
): Credentials {
  if ((apiKey === undefined) === (token === undefined)) {
    throw new TypeError('Pass either apiKey or token, not both.');
  }
  if (apiKey !== undefined) return credentialsInHeaders({ 'X-API-Key': apiKey });
  const source: TokenSource = typeof token === 'function' ? token : () => token ?? '';
  let cached: { headers: Record<string, string>; until: number } | null = null;
  const freshToken = async () => {
    const text = await source();
    const lifetimeMs = lifetimeOf(text, now());
    const headers = { Authorization: `Bearer ${text}` };
    cached = { headers, until: now() + (lifetimeMs ?? Number.POSITIVE_INFINITY) * RENEWAL_SHARE };
    return { token: text, lifetimeMs, headers };
  };
  return {
    async headers() {
      const { headers } = cached && now() < cached.until ? cached : await freshToken();
      return headers;
    },
    freshToken,
    discard(rejected) {
      // Another request may have discarded or replaced it already.
      if (rejected === cached?.headers) cached = null;
      return typeof token === 'function';
    },
  };
}

/** Returns the credentials of a caller whose requests always carry the same headers. */
export function credentialsInHeaders(headers: Record<string, string>): Credentials {
  return {
    headers: () => Promise.resolve(headers),
    freshToken: () => Promise.resolve(null),
    discard: () => false,
  };
}

/**
 * Returns the remaining lifetime of a JWT by its own claims, in milliseconds. If the local clock contradicts the claims, the
 * token counts as just created. Returns null for a token without an `exp` claim.
 */
export function lifetimeOf(token: string, now: number): number | null {
  const { iat, exp } = claimsOf(token);
  if (typeof exp !== 'number') return null;
  const remaining = exp * 1_000 - now;
  const total = typeof iat === 'number' ? (exp - iat) * 1_000 : remaining;
  return remaining > 0 && remaining <= total ? remaining : Math.max(0, total);
}

function claimsOf(token: string): { iat?: unknown; exp?: unknown } {
  try {
    const [, claims = ''] = token.split('.');
    const parsed: unknown = JSON.parse(atob(claims.replaceAll('-', '+').replaceAll('_', '/')));
    return parsed !== null && typeof parsed === 'object' ? parsed : {};
  } catch {
    return {};
  }
}
