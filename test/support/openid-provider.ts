import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import Provider from 'oidc-provider';

/** The claims of an account. */
export type Account = { email?: string; email_verified?: unknown; name?: string };

/** A real OpenID provider on loopback. A test defines who signs in, and which requests fail. */
export type TestProvider = {
  issuer: string;
  /** Starts to respond, for one client with one redirect URI. Before that it is unavailable. */
  open(redirectUri: string): void;
  /** Signs this subject in at every request, without a page. Null cancels. */
  signsIn(subject: string | null, account?: Account): void;
  /** Changes the responses of the token endpoint. Null ends this. */
  tampering(change: ((answer: Record<string, unknown>) => unknown) | null): void;
  /** Returns 503 for every request. */
  goesAway(): void;
  comesBack(): void;
  /** The number of requests to the token endpoint so far. */
  redeemed: number;
  close(): Promise<void>;
};

export const CLIENT = { id: 'baton', secret: 'a secret of the client only' };

export async function startOpenIdProvider(options: { publicClient?: boolean } = {}): Promise<TestProvider> {
  let provider: Provider | null = null;
  let isAway = false;
  let current: string | null = null;
  const accounts = new Map<string, Account>();
  let tamper: ((answer: Record<string, unknown>) => unknown) | null = null;

  const server = createServer((request, response) => {
    if (provider === null || isAway) return void response.writeHead(503).end('away');
    if (!request.url?.startsWith('/interaction/')) return provider.callback()(request, response);
    const result =
      current === null
        ? { error: 'access_denied', error_description: 'cancelled' }
        : { login: { accountId: current, remember: false } };
    provider.interactionFinished(request, response, result).catch((error: Error) => {
      response.writeHead(500).end(error.message);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  const self: TestProvider = {
    issuer,
    redeemed: 0,
    open(redirectUri) {
      provider = new Provider(issuer, settingsOf(redirectUri, options.publicClient ?? false, accounts));
      provider.use(async (context, next) => {
        await next();
        if (context.path !== '/token') return;
        self.redeemed += 1;
        if (tamper && context.status === 200) {
          context.body = await tamper(context.body as Record<string, unknown>);
        }
      });
    },
    signsIn(subject, account = {}) {
      current = subject;
      if (subject !== null) accounts.set(subject, account);
    },
    tampering: (change) => void (tamper = change),
    goesAway: () => void (isAway = true),
    comesBack: () => void (isAway = false),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return self;
}

type GrantContext = {
  oidc: {
    client: { clientId: string };
    session: { accountId: string; grantIdFor(clientId: string): string | undefined };
    provider: Provider;
  };
};

function settingsOf(redirectUri: string, isPublic: boolean, accounts: ReadonlyMap<string, Account>) {
  return {
    clients: [
      {
        client_id: CLIENT.id,
        ...(isPublic ? { token_endpoint_auth_method: 'none' } : { client_secret: CLIENT.secret }),
        redirect_uris: [redirectUri],
        response_types: ['code'],
      },
    ],
    pkce: { required: () => true },
    claims: { email: ['email', 'email_verified'], profile: ['name'] },
    cookies: { keys: ['only for tests'] },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_context: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
    findAccount: (_context: unknown, sub: string) => ({
      accountId: sub,
      claims: async () => ({ sub, ...accounts.get(sub) }),
    }),
    async loadExistingGrant({ oidc: { client, session, provider } }: GrantContext) {
      const known = session.grantIdFor(client.clientId);
      // A grant that a repeated code has revoked no longer exists.
      const found = known === undefined ? undefined : await provider.Grant.find(known);
      if (found) return found;
      const grant = new provider.Grant({ clientId: client.clientId, accountId: session.accountId });
      grant.addOIDCScope('openid email profile');
      await grant.save();
      return grant;
    },
  };
}
