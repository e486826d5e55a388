import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { generateKeyPair, SignJWT } from 'jose';
import { createOpenIdSignIn } from '../../src/api/account/openid/sign-in.ts';
import { externalProviderOf } from '../../src/runtime/outgoing.ts';
import { parseKeyRing } from '../../src/security/key-ring.ts';
import { createTokens } from '../../src/security/tokens.ts';

describe('a response of an identity provider that is too large when decompressed', () => {
  const clock = () => new Date();
  let server: Server;
  let url: string;
  /** Valid metadata of an OpenID provider, with many blanks. */
  let bomb: Buffer;
  before(async () => {
    server = createServer((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' }).end(bomb);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const metadata = { issuer: url, authorization_endpoint: `${url}/a`, token_endpoint: `${url}/t` };
    const blanks = Buffer.alloc(64 * 1_048_576, 32);
    // Compressed before the requests, whose time is limited.
    bomb = gzipSync(Buffer.concat([blanks, Buffer.from(JSON.stringify(metadata))]));
  });
  after(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  it('is broken off when the keys are read', async () => {
    const claims = { issuer: url, audience: 'baton', projectClaim: 'project_id', scopeClaim: 'scope' };
    const provider = externalProviderOf({ identityProvider: { jwksUrl: `${url}/keys`, ...claims } });
    const { privateKey } = await generateKeyPair('ES256');
    const token = await new SignJWT({ project_id: 'p' })
      .setProtectedHeader({ alg: 'ES256', kid: 'k' })
      .setIssuer(url)
      .setAudience('baton')
      .setSubject('s')
      .setExpirationTime('1 h')
      .sign(privateKey);
    const ring = parseKeyRing(`t1:${Buffer.alloc(32).toString('base64')}`);
    const error = await createTokens(ring, provider, clock)
      .verify(token)
      .then(
        () => assert.fail('it was accepted'),
        (reason: unknown) => reason,
      );
    assert.match(messagesOf(error), /too large when decompressed/);
  });

  it('is broken off when a sign-in begins', async () => {
    const plan = { name: 'Acme', joining: null, issuer: url, clientId: 'c', clientSecret: null };
    const { provider } = createOpenIdSignIn(plan, { baseUrl: 'http://localhost', ca: null, clock });
    await assert.rejects(provider.begin(), { code: 'openid_unavailable' });
  });
});

function messagesOf(error: unknown): string {
  return error instanceof Error ? `${error.message}; ${messagesOf(error.cause)}` : '';
}
