import { getCACertificates } from 'node:tls';
import { createLimitedFetch } from '../../../outbound/limited-fetch.ts';
import type { JoinByDomain } from '../../../database/people/openid.ts';
import { createOpenIdProvider, type OpenIdProvider, type OpenIdSettings } from '../../../security/openid.ts';

/** The configured OpenID provider. */
export type OpenIdSignIn = { name: string; provider: OpenIdProvider; joining: JoinByDomain | null };

type OpenIdPlan = Pick<OpenIdSignIn, 'name' | 'joining'> &
  Pick<OpenIdSettings, 'issuer' | 'clientId' | 'clientSecret'>;

/** Returns the configured provider. `ca` is trusted in addition to the system's certificates. */
export function createOpenIdSignIn(
  { name, joining, issuer, clientId, clientSecret }: OpenIdPlan,
  { baseUrl, ca, clock }: { baseUrl: string; ca: string | null; clock: () => Date },
): OpenIdSignIn {
  // The provider must know this address.
  const redirectUri = `${baseUrl}/api/v1/openid/callback`;
  const connect = ca === null ? {} : { ca: [...getCACertificates('default'), ca] };
  const { fetch } = createLimitedFetch({ connect });
  const settings = { issuer, clientId, clientSecret, redirectUri, fetch: fetch as OpenIdSettings['fetch'] };
  return { name, joining, provider: createOpenIdProvider(settings, clock) };
}
