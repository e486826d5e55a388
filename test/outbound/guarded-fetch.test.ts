import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { createAddressGuard } from '../../src/outbound/address-guard.ts';
import {
  createGuardedFetch,
  type GuardedFetch,
  type GuardedFetchOptions,
} from '../../src/outbound/guarded-fetch.ts';
import { services } from '../support/services.ts';
import { localGuard } from './sending.ts';

describe('the guarded fetch', () => {
  const open: (() => Promise<unknown>)[] = [];
  let hits = 0;

  beforeEach(() => {
    hits = 0;
  });
  afterEach(async () => {
    await Promise.all(open.splice(0).map((close) => close()));
  });

  async function listening(server: Server): Promise<number> {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    open.push(() => new Promise((resolve) => server.close(resolve)));
    return (server.address() as AddressInfo).port;
  }
  const answering = (text: string) =>
    createServer((_request, response) => {
      hits += 1;
      response.end(text);
    });
  function guarded(options: Partial<GuardedFetchOptions> = {}): GuardedFetch {
    const made = createGuardedFetch({ guard: localGuard, ...options });
    open.push(() => made.close());
    return made;
  }

  it('reaches an allowed address', async () => {
    const port = await listening(answering('here'));
    const { fetch } = guarded({ lookup: async () => ['127.0.0.1'] });
    const answer = await fetch(`http://agent.example:${port}/x`, { method: 'POST', body: 'y' });
    assert.equal(await answer.text(), 'here');
  });

  for (const [what, address] of [
    ['a literal address', '127.0.0.1'],
    ['a name with an address', 'agent.example'],
  ]) {
    it(`refuses ${what} that is not allowed, and sends nothing`, async () => {
      const port = await listening(answering('here'));
      const { fetch } = guarded({ guard: createAddressGuard([]), lookup: async () => ['127.0.0.1'] });
      await assert.rejects(fetch(`http://${address}:${port}/`), {
        name: 'OutboundFailure',
        kind: 'address_refused',
      });
      assert.equal(hits, 0);
    });
  }

  it('does not follow redirects', async () => {
    const target = await listening(answering('inside'));
    const port = await listening(
      createServer((_request, response) =>
        response.writeHead(302, { location: `http://127.0.0.1:${target}/` }).end(),
      ),
    );
    await assert.rejects(guarded().fetch(`http://127.0.0.1:${port}/`));
    assert.equal(hits, 0);
  });

  it('aborts a small response that is too large when decompressed', async () => {
    const bomb = gzipSync(Buffer.alloc(64 * 1_048_576));
    const small = gzipSync('a'.repeat(1_000));
    const port = await listening(
      createServer((request, response) => {
        response.writeHead(200, { 'content-encoding': 'gzip' });
        response.end(request.url === '/bomb' ? bomb : small);
      }),
    );
    assert.ok(bomb.length < 100_000);
    const { fetch } = guarded();
    const fits = await fetch(`http://127.0.0.1:${port}/small`);
    assert.equal(fits.url, `http://127.0.0.1:${port}/small`);
    assert.equal(await fits.text(), 'a'.repeat(1_000));
    const response = await fetch(`http://127.0.0.1:${port}/bomb`);
    await assert.rejects(response.text(), { kind: 'invalid_response' });
  });

  it('verifies the name in a certificate', async () => {
    const { ca, cert, key } = services().tls;
    const port = await listening(
      createSecureServer({ cert, key }, (_request, response) => response.end('safe')),
    );
    const { fetch } = guarded({ ca, lookup: async () => ['127.0.0.1'] });
    assert.equal(await (await fetch(`https://localhost:${port}/`)).text(), 'safe');
    await assert.rejects(fetch(`https://other.example:${port}/`), { kind: 'tls_failed' });
  });

  it('reports the kind of failure for an invalid URL and a refused connection', async () => {
    await assert.rejects(guarded().fetch('ftp://agent.example/'), { kind: 'invalid_request' });
    const port = await listening(answering('here'));
    await open.pop()?.();
    await assert.rejects(guarded().fetch(`http://127.0.0.1:${port}/`), { kind: 'connection_failed' });
  });
});
