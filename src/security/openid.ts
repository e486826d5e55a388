import * as openid from 'openid-client';

/** A person as the provider identified them. */
export type OpenIdPerson = {
  issuer: string;
  subject: string;
  /** As received; null if the provider sends none. */
  email: string | null;
  isEmailVerified: boolean;
  name: string | null;
};

/** The secrets of one sign-in, stored only in its browser. */
export type OpenIdSecrets = { state: string; nonce: string; verifier: string };

/** An OpenID provider: authorization code flow with PKCE, state and nonce. */
export type OpenIdProvider = {
  /** Returns the URL that the browser is redirected to. @throws OpenIdFailure */
  begin(): Promise<{ url: string; secrets: OpenIdSecrets }>;
  /** Returns the person for the parameters with which the browser came back. @throws OpenIdFailure */
  finish(parameters: URLSearchParams, secrets: OpenIdSecrets): Promise<OpenIdPerson>;
};

/** A failure of the provider or of a sign-in. The message is for the log and contains no code, token or secret. */
export class OpenIdFailure extends Error {
  override name = 'OpenIdFailure';
  readonly code: 'openid_unavailable' | 'openid_refused' | 'openid_failed';
  constructor(code: OpenIdFailure['code'], message: string) {
    super(message);
    this.code = code;
  }
}

export type OpenIdSettings = {
  /** https, or http on this machine. */
  issuer: string;
  clientId: string;
  /** Null for a public client. */
  clientSecret: string | null;
  /** Where the provider redirects the browser; must be registered with the provider. */
  redirectUri: string;
  /** Limits responses, and trusts the configured certificates. */
  fetch: openid.CustomFetch;
};

const SCOPE = 'openid email profile';
/** Timeout of a request to the provider, in seconds. */
const TIMEOUT_S = 5;
/** How long the provider's metadata is cached, in milliseconds. */
const METADATA_MS = 3_600_000;

/**
 * Creates the client of a provider. It connects at the first sign-in, so that the service starts while the provider
 * is down.
 */
export function createOpenIdProvider(settings: OpenIdSettings, clock: () => Date): OpenIdProvider {
  const configured = cacheFor(() => discover(settings), METADATA_MS, clock);
  return {
    async begin() {
      const configuration = await configured().catch(unavailable);
      const secrets = {
        state: openid.randomState(),
        nonce: openid.randomNonce(),
        verifier: openid.randomPKCECodeVerifier(),
      };
      const url = openid.buildAuthorizationUrl(configuration, {
        redirect_uri: settings.redirectUri,
        scope: SCOPE,
        state: secrets.state,
        nonce: secrets.nonce,
        code_challenge: await openid.calculatePKCECodeChallenge(secrets.verifier),
        code_challenge_method: 'S256',
      });
      return { url: url.href, secrets };
    },
    async finish(parameters, secrets) {
      const configuration = await configured().catch(unavailable);
      const url = new URL(settings.redirectUri);
      url.search = parameters.toString();
      try {
        return await redeem(configuration, url, secrets);
      } catch (error) {
        throw asFailure(error);
      }
    },
  };
}

function discover({ issuer, clientId, clientSecret, fetch }: OpenIdSettings): Promise<openid.Configuration> {
  const server = new URL(issuer);
  return openid.discovery(server, clientId, undefined, clientAuth(clientSecret), {
    timeout: TIMEOUT_S,
    // Verifies the signature of ID tokens in addition to their origin.
    execute: [
      openid.enableNonRepudiationChecks,
      ...(server.protocol === 'http:' ? [openid.allowInsecureRequests] : []),
    ],
    [openid.customFetch]: fetch,
  });
}

/**
 * Returns how the secret is sent. Basic is the default unless the metadata says otherwise (OIDC Discovery, section
 * 3).
 */
function clientAuth(secret: string | null): openid.ClientAuth {
  if (secret === null) return openid.None();
  const [basic, post] = [openid.ClientSecretBasic(secret), openid.ClientSecretPost(secret)];
  return (server, client, body, headers) => {
    const ways = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    const chosen =
      !ways.includes('client_secret_basic') && ways.includes('client_secret_post') ? post : basic;
    chosen(server, client, body, headers);
  };
}

async function redeem(
  configuration: openid.Configuration,
  url: URL,
  { state, nonce, verifier }: OpenIdSecrets,
): Promise<OpenIdPerson> {
  const tokens = await openid.authorizationCodeGrant(configuration, url, {
    expectedState: state,
    expectedNonce: nonce,
    pkceCodeVerifier: verifier,
    idTokenExpected: true,
  });
  const claims = tokens.claims();
  if (!claims) throw new OpenIdFailure('openid_failed', 'the provider returned no ID token');
  const { iss: issuer, sub: subject } = claims;
  // Many providers return the address only in the user info (OIDC Core, section 5.4).
  const asks =
    claims['email'] === undefined && configuration.serverMetadata().userinfo_endpoint !== undefined;
  const userInfo = asks ? await openid.fetchUserInfo(configuration, tokens.access_token, subject) : {};
  const all: Record<string, unknown> = { ...userInfo, ...claims };
  return {
    issuer,
    subject,
    email: textOr(all['email'], null),
    isEmailVerified: all['email_verified'] === true,
    name: textOr(all['name'], null),
  };
}

function asFailure(error: unknown): OpenIdFailure {
  if (error instanceof OpenIdFailure) return error;
  if (error instanceof openid.AuthorizationResponseError) {
    const { error: code } = error;
    if (code === 'access_denied')
      return new OpenIdFailure('openid_refused', 'the provider returned access_denied');
    const isUnavailable = code === 'temporarily_unavailable' || code === 'server_error';
    return new OpenIdFailure(
      isUnavailable ? 'openid_unavailable' : 'openid_failed',
      `the provider returned ${nameOf(code)}`,
    );
  }
  if (error instanceof openid.ResponseBodyError) {
    return new OpenIdFailure('openid_failed', `the provider refused the code: ${nameOf(error.error)}`);
  }
  const { code, message } = error as { code?: unknown; message?: unknown };
  const isUnavailable =
    code === 'OAUTH_TIMEOUT' ||
    (code === 'OAUTH_RESPONSE_IS_NOT_CONFORM' && isServerError(error)) ||
    (error instanceof TypeError && error.cause !== undefined && code === undefined);
  const words = `${textOr(code, 'an error')}: ${textOr(message, '')}`;
  return new OpenIdFailure(isUnavailable ? 'openid_unavailable' : 'openid_failed', words);
}

function unavailable(error: unknown): never {
  const { message, cause } = error as { message?: unknown; cause?: { message?: unknown } };
  const why = textOr(cause?.message, '') || textOr(message, '');
  throw new OpenIdFailure('openid_unavailable', `cannot read the metadata of the provider: ${why}`);
}

function isServerError(error: unknown): boolean {
  const { cause } = error as { cause?: { status?: unknown } };
  return typeof cause?.status === 'number' && cause.status >= 500;
}

/** Returns an OAuth error code. Any other text is untrusted and is not repeated. */
function nameOf(code: string): string {
  return /^[a-z_]{1,50}$/.test(code) ? code : 'an unknown error';
}

function textOr<T>(value: unknown, otherwise: T): string | T {
  return typeof value === 'string' ? value : otherwise;
}

/** Caches a value for `forMs`. If renewing it fails, the old value is used. */
function cacheFor<T>(make: () => Promise<T>, forMs: number, clock: () => Date): () => Promise<T> {
  let kept: { value: T; at: number } | null = null;
  let making: Promise<T> | null = null;
  return async () => {
    const now = clock().getTime();
    if (kept && now - kept.at < forMs) return kept.value;
    making ??= make().finally(() => (making = null));
    try {
      kept = { value: await making, at: now };
    } catch (error) {
      if (!kept) throw error;
    }
    return kept.value;
  };
}
