/** Gives a token of `POST /api/v1/tokens`; asked again whenever a newer one is needed. */
export type TokenSource = () => string | Promise<string>;

/** A token and for how long it is still good, in milliseconds; null where it does not tell. */
export type GoodToken = { token: string; lifetimeMs: number | null };

/** Who calls: by a key, or by tokens. */
export type Credentials = {
  headers(): Promise<Record<string, string>>;
  /** A token that was made just now; null where the key has to make it. */
  freshToken(): Promise<GoodToken | null>;
  /** The credential was refused. True where there may be a better one. */
  refused(): boolean;
};

/** A token is replaced when so much of its time is over. */
export const RENEWED_AFTER = 2 / 3;

/** @throws TypeError unless there is either a key or a token */
export function createCredentials(
  { apiKey, token }: { apiKey?: string | undefined; token?: string | TokenSource | undefined },
  now: () => number = Date.now,
): Credentials {
  if ((apiKey === undefined) === (token === undefined)) {
    throw new TypeError('Give either an apiKey or a token.');
  }
  if (apiKey !== undefined) return credentialsInHeaders({ 'X-API-Key': apiKey });
  const source: TokenSource = typeof token === 'function' ? token : () => token ?? '';
  let kept: { token: string; until: number } | null = null;
  const fresh = async (): Promise<GoodToken> => {
    const found = await source();
    const lifetimeMs = lifetimeOf(found, now());
    kept = { token: found, until: now() + (lifetimeMs ?? Number.POSITIVE_INFINITY) * RENEWED_AFTER };
    return { token: found, lifetimeMs };
  };
  return {
    async headers() {
      const good = kept && now() < kept.until ? kept : await fresh();
      return { Authorization: `Bearer ${good.token}` };
    },
    freshToken: fresh,
    refused() {
      const hadOne = kept !== null;
      kept = null;
      return hadOne && typeof token === 'function';
    },
  };
}

/** Returns the credentials of a caller whose requests always carry the same headers. */
export function credentialsInHeaders(headers: Record<string, string>): Credentials {
  return {
    headers: () => Promise.resolve(headers),
    freshToken: () => Promise.resolve(null),
    refused: () => false,
  };
}

/**
 * For how long a JWT is still good by its own claims, in milliseconds. Where our clock makes no sense beside them, it
 * was made just now. Null where it says nothing.
 */
export function lifetimeOf(token: string, now: number): number | null {
  const { iat, exp } = claimsOf(token);
  if (typeof exp !== 'number') return null;
  const left = exp * 1_000 - now;
  const whole = typeof iat === 'number' ? (exp - iat) * 1_000 : left;
  return left > 0 && left <= whole ? left : Math.max(0, whole);
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
