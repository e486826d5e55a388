import assert from 'node:assert/strict';
import { webcrypto } from 'node:crypto';
import * as fc from 'fast-check';
import { requestHash } from '../../src/api/http/idempotency.ts';
import { webhookHeaders } from '../../src/outbound/webhook-request.ts';
import { parseKeyRing } from '../../src/security/key-ring.ts';
import { safeReturnPath } from '../../src/security/return-path.ts';
import { createSealing, SealError } from '../../src/security/sealing.ts';
import { holds, holdsAsync } from './property.ts';

const text = fc.string({ unit: 'binary', maxLength: 200 }).map((value) => value.toWellFormed());
const secret = fc
  .string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 80 })
  .map((value) => value.replaceAll(' ', '_'));
const bytes = fc.uint8Array({ maxLength: 500 });
const NOW = new Date('2026-01-01T00:00:00.000Z');

describe('a signature, for random secrets and bodies', () => {
  const headersFor = (body: Uint8Array, own: string, previous: string | null) =>
    webhookHeaders(
      { deliveryId: 'd', event: 'issue.created', timestamp: NOW, body: Buffer.from(body) },
      { secret: own, previousSecret: previous, includeSecretHeader: false, standardWebhooks: false },
      NOW,
    );

  it('is verified by Web Crypto for the same secret and bytes only', async () => {
    await holdsAsync(
      [secret, bytes, fc.nat()],
      async (own, body, position) => {
        const { 'x-service-signature': signature = '' } = headersFor(body, own, null);
        assert.ok(await verifies(own, body, signature));
        const other = Uint8Array.from(body.length === 0 ? [0] : body);
        if (body.length > 0)
          other[position % body.length] = (other[position % body.length] ?? 0) ^ (1 << (position % 8));
        assert.ok(!(await verifies(own, other, signature)));
        assert.ok(!(await verifies(`${own}x`, body, signature)));
      },
      200,
    );
  });

  it('is sent for the new and the previous secret during a rotation, each in its own header', async () => {
    await holdsAsync(
      [fc.uniqueArray(secret, { minLength: 2, maxLength: 2 }), bytes],
      async (secrets, body) => {
        const [own = '', previous = ''] = secrets;
        const headers = headersFor(body, own, previous);
        const [now = '', before = ''] = [
          headers['x-service-signature'],
          headers['x-service-signature-previous'],
        ];
        assert.ok(await verifies(own, body, now));
        assert.ok(await verifies(previous, body, before));
        assert.ok(!(await verifies(previous, body, now)));
        assert.equal(headersFor(body, own, null)['x-service-signature-previous'], undefined);
        assert.ok(!JSON.stringify(headers).includes(JSON.stringify(own).slice(1, -1)) || own.length < 12);
      },
      200,
    );
  });
});

describe('a sealed secret, for random values', () => {
  const key = fc.uint8Array({ minLength: 32, maxLength: 32 });
  const ringOf = (id: string, material: Uint8Array) => `${id}:${Buffer.from(material).toString('base64')}`;

  it('can be opened in its context with every key ring that contains its key', () => {
    holds(
      [key, key, text, text],
      (one, other, plain, context) => {
        const sealed = createSealing(parseKeyRing(ringOf('a', one))).seal(plain, context);
        const rotated = createSealing(parseKeyRing(`${ringOf('b', other)},${ringOf('a', one)}`));
        assert.equal(rotated.open(sealed, context), plain);
        assert.equal(rotated.open(rotated.seal(plain, context), context), plain);
      },
      300,
    );
  });

  it('cannot be opened in another context, with another key, or with one bit flipped', () => {
    holds(
      [key, text, text, text, fc.nat()],
      (material, plain, context, elsewhere, bit) => {
        const sealing = createSealing(parseKeyRing(ringOf('a', material)));
        const sealed = sealing.seal(plain, context);
        if (elsewhere !== context) assert.throws(() => sealing.open(sealed, elsewhere), SealError);
        const other = Uint8Array.from(material);
        other[bit % 32] = (other[bit % 32] ?? 0) ^ (1 << (bit % 8));
        assert.throws(() => createSealing(parseKeyRing(ringOf('a', other))).open(sealed, context), SealError);
        for (const part of [2, 3])
          assert.throws(() => sealing.open(flipped(sealed, part, bit), context), SealError);
      },
      300,
    );
  });
});

describe('the request hash of an idempotency key', () => {
  const request = fc.record({
    method: fc.constantFrom('POST', 'PUT'),
    path: fc.constantFrom('/a', '/a/b', '/a"', ''),
    body: fc.oneof(fc.constant(undefined), fc.jsonValue({ maxDepth: 2 })),
  });

  it('is equal for two requests only if method, path and body are equal', () => {
    holds([request, request], (one, other) => {
      const all = ({ method, path, body }: typeof one) => JSON.stringify([method, path, body ?? null]);
      const isSame = all(one) === all(other);
      assert.equal(requestHash(one) === requestHash(other), isSame);
      assert.equal(requestHash(one), requestHash({ ...one }));
    });
  });

  it('consists of 64 hexadecimal digits', () => {
    holds([request], (one) => assert.match(requestHash(one), /^[0-9a-f]{64}$/), 200);
  });
});

describe('the return path, for random requests', () => {
  const part = fc.constantFrom(
    '/',
    '//',
    '\\',
    '.',
    '..',
    '%2f',
    '%5c',
    '@',
    ':',
    'evil.example',
    'https:',
    '\t',
    '\n',
    '#',
    '?',
    'a',
    'javascript:',
    '‮',
    ' ',
  );
  const wanted = fc.oneof(
    fc.array(part, { maxLength: 8 }).map((parts) => parts.join('')),
    fc.webUrl(),
    fc.string({ unit: 'binary' }),
  );

  it('stays on the origin in a browser, from every page, and is accepted unchanged', () => {
    holds(
      [wanted, fc.constantFrom('/', '/sign-in', '/a/b')],
      (asked, page) => {
        const path = safeReturnPath(asked);
        for (const base of ['https://baton.example', 'http://localhost:3000']) {
          const landed = new URL(path, `${base}${page}`);
          assert.equal(landed.origin, base, JSON.stringify({ asked, path }));
          assert.equal(landed.pathname + landed.search + landed.hash, path);
          assert.ok(!/^\/(api|sign-in)(\/|$)/.test(landed.pathname));
        }
        assert.equal(safeReturnPath(path), path);
      },
      5_000,
    );
  });
});

/** Verifies a signature with Web Crypto and the UTF-8 bytes of the secret. */
async function verifies(own: string, body: Uint8Array, signature: string): Promise<boolean> {
  const [scheme, hex = ''] = signature.split('=');
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const key = await webcrypto.subtle.importKey('raw', Buffer.from(own), algorithm, false, ['verify']);
  const isRight = await webcrypto.subtle.verify('HMAC', key, Buffer.from(hex, 'hex'), Uint8Array.from(body));
  return scheme === 'sha256' && isRight;
}

/** Returns a sealed text with one bit flipped in one of its parts. */
function flipped(sealed: string, part: number, bit: number): string {
  const parts = sealed.split('.');
  const changed = Buffer.from(parts[part] ?? '', 'base64url');
  const at = bit % changed.length;
  changed[at] = (changed[at] ?? 0) ^ (1 << (bit % 8));
  parts[part] = changed.toString('base64url');
  return parts.join('.');
}
