import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Database } from '../database/database.ts';
import { findTokenHolder, type TokenHolder } from '../database/people/token-holders.ts';
import type { TokenClaims } from '../domain/people/access.ts';
import type { ChannelCode } from '../domain/channel/channel.ts';
import { MAX_CONNECTIONS_OF_OWNER_PERCENT, MAX_TOKEN_LENGTH } from '../domain/common/limits.ts';
import { TokenError, type Tokens } from '../security/tokens.ts';
import { createPlaces } from './places.ts';

/** The result of an admission. `release` frees the place of the connection. */
export type Admission =
  | { ok: true; claims: TokenClaims; holder: TokenHolder; release: () => void }
  | { ok: false; code: ChannelCode };

/** Maximum number of connections, for one token and for this process. All tokens of an owner have a share of the latter. */
export type ConnectionLimits = { perToken: number; overall: number };

export type AdmissionControl = {
  admit(token: string | null): Promise<Admission>;
  /** Verifies a newer token of a connected client. Returns a code if it is rejected. */
  check(token: string): Promise<{ claims: TokenClaims; holder: TokenHolder } | ChannelCode>;
  /** Returns whether a token is signed and has not expired, without reading the database. */
  isSigned(token: string): Promise<boolean>;
};

type Dependencies = {
  database: Database;
  tokens: Tokens;
  limits: ConnectionLimits;
  onError(error: unknown): void;
};

/** Admits connections with a valid token, within the limits. */
export function createAdmissionControl({
  database,
  tokens,
  limits,
  onError,
}: Dependencies): AdmissionControl {
  const places = createPlaces(limits.overall);
  const perOwner = Math.ceil((limits.overall * MAX_CONNECTIONS_OF_OWNER_PERCENT) / 100);

  async function check(token: string): Promise<{ claims: TokenClaims; holder: TokenHolder } | ChannelCode> {
    if (token.length > MAX_TOKEN_LENGTH) return 'token_invalid';
    try {
      const claims = await tokens.verify(token);
      const holder = await findTokenHolder(database, claims);
      return holder ? { claims, holder } : 'token_invalid';
    } catch (error) {
      if (error instanceof TokenError) return error.code;
      onError(error);
      return 'unavailable';
    }
  }

  return {
    check,
    async isSigned(token) {
      if (token.length > MAX_TOKEN_LENGTH) return false;
      return await tokens.verify(token).then(
        () => true,
        () => false,
      );
    },
    async admit(token) {
      if (token === null || token === '') return { ok: false, code: 'token_invalid' };
      const checked = await check(token);
      if (typeof checked === 'string') return { ok: false, code: checked };
      const key = createHash('sha256').update(token).digest('base64');
      const release = places.take({ [key]: limits.perToken, [`of ${checked.holder.actor}`]: perOwner });
      return release ? { ok: true, ...checked, release } : { ok: false, code: 'too_many_connections' };
    },
  };
}

/** Returns the token of a request: the query parameter `token`, or a bearer in `Authorization`. */
export function tokenOf(request: IncomingMessage): string | null {
  const { searchParams } = new URL(request.url ?? '/', 'http://channel');
  const [, bearer] = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '') ?? [];
  return searchParams.get('token') ?? bearer ?? null;
}
