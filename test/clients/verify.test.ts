import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { callbackBody } from '../../src/domain/tasks/callback.ts';
import { payloadText } from '../../src/domain/webhooks/event-payload.ts';
import { signature } from '../../src/outbound/sign.ts';
import { webhookHeaders, type Signing } from '../../src/outbound/webhook-request.ts';
import { withPage } from '../support/browser.ts';
import { installedClient, type InstalledClient } from './installed-client.ts';

type Verify = Awaited<ReturnType<InstalledClient['load']>>['verify'];

// The secret looks like hex but isn't ASCII, so it must not be decoded.
const SECRET = 'c0ffee-grün-€';
const OLD_SECRET = 'deadbeef';
const NOW = new Date('2026-05-01T10:00:00.000Z');
const DATA = '{ "issue": {"id":"i-1", "key":"SHOP-1", "title":"Größe 1.0e2 ✓"}, "changes": [] }';
const BODY = Buffer.from(
  payloadText({
    id: 'evt_1',
    event: 'issue.updated',
    timestamp: NOW.toISOString(),
    workspace: { id: 'w-1', name: 'Test' },
    data: DATA,
  }),
);
const PLAIN: Signing = {
  secret: SECRET,
  previousSecret: null,
  includeSecretHeader: false,
  standardWebhooks: false,
};
const STANDARD: Signing = { ...PLAIN, standardWebhooks: true };

/** Returns the headers that the service sends. */
function headersBy(signing: Partial<Signing>, at = NOW): Record<string, string> {
  const message = { deliveryId: 'd-1', event: 'issue.updated', timestamp: NOW, body: BODY };
  return webhookHeaders(message, { ...PLAIN, ...signing }, at);
}

describe('the signature check of the client package', function () {
  let verify: Verify;

  before(async () => {
    ({ verify } = await (await installedClient()).load());
  });

  const refused = (reason: string) => (error: unknown) => {
    assert.ok(error instanceof verify.SignatureError, String(error));
    assert.equal(error.reason, reason);
    return true;
  };

  describe('for a delivery', () => {
    it('returns the payload of a valid one', async () => {
      const payload = await verify.verifyWebhook(BODY, headersBy({}), SECRET);
      assert.equal(payload.event, 'issue.updated');
      assert.deepEqual(payload, JSON.parse(BODY.toString()));
    });

    it('accepts the body as bytes, buffer and text, and headers of every kind', async () => {
      const headers = headersBy({});
      const upper = Object.fromEntries(
        Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]),
      );
      const buffer = new Uint8Array(BODY).buffer;
      for (const body of [BODY, new Uint8Array(BODY), buffer, BODY.toString()]) {
        for (const headerSource of [headers, upper, new Headers(headers)]) {
          assert.equal((await verify.verifyWebhook(body, headerSource, SECRET)).id, 'evt_1');
        }
      }
    });

    it('works through a rotation, whichever side has the new secret first', async () => {
      const rotating = headersBy({ secret: SECRET, previousSecret: OLD_SECRET, standardWebhooks: true });
      for (const secret of [SECRET, OLD_SECRET, ['something else', OLD_SECRET]]) {
        assert.ok(await verify.verifyWebhook(BODY, rotating, secret, { now: NOW }));
      }
      const before = headersBy({ secret: OLD_SECRET });
      assert.ok(await verify.verifyWebhook(BODY, before, [SECRET, OLD_SECRET]));
      const over = headersBy({});
      await assert.rejects(verify.verifyWebhook(BODY, over, OLD_SECRET), refused('mismatch'));
    });

    const sha = signature(SECRET, BODY);
    const wrong: ReadonlyArray<readonly [what: string, headers: Record<string, string>, reason: string]> = [
      ['no signature', {}, 'missing_signature'],
      ['another secret', { 'x-service-signature': signature('other', BODY) }, 'mismatch'],
      ['another body', { 'x-service-signature': signature(SECRET, Buffer.from('{}')) }, 'mismatch'],
      ['an empty signature', { 'x-service-signature': '' }, 'malformed_signature'],
      ['the start of a valid signature', { 'x-service-signature': sha.slice(0, 20) }, 'malformed_signature'],
      ['a valid signature and more', { 'x-service-signature': `${sha}0` }, 'malformed_signature'],
      ['a signature without its scheme', { 'x-service-signature': sha.slice(7) }, 'malformed_signature'],
      [
        'a signature in capitals',
        { 'x-service-signature': `sha256=${sha.slice(7).toUpperCase()}` },
        'malformed_signature',
      ],
      ['non-ASCII letters', { 'x-service-signature': `sha256=${'é'.repeat(64)}` }, 'malformed_signature'],
      [
        'an invalid Standard Webhooks signature next to a valid one',
        { ...headersBy(STANDARD), 'webhook-id': 'd-2' },
        'mismatch',
      ],
      [
        'an invalid signature next to a valid Standard Webhooks one',
        { ...headersBy(STANDARD), 'x-service-signature': signature('other', BODY) },
        'mismatch',
      ],
      [
        'a changed time',
        { ...headersBy(STANDARD), 'webhook-timestamp': String(NOW.getTime() / 1_000 - 1) },
        'mismatch',
      ],
      [
        'Standard Webhooks without an id',
        { 'webhook-signature': 'v1,x', 'webhook-timestamp': '1' },
        'malformed_signature',
      ],
    ];
    for (const [what, headers, reason] of wrong) {
      it(`rejects ${what}`, async () => {
        await assert.rejects(verify.verifyWebhook(BODY, headers, SECRET, { now: NOW }), refused(reason));
      });
    }

    it('rejects a body with one changed bit', async () => {
      for (const at of [0, 40, BODY.length - 1]) {
        const changed = Buffer.from(BODY);
        changed[at] = (changed[at] ?? 0) ^ 1;
        await assert.rejects(verify.verifyWebhook(changed, headersBy(STANDARD), SECRET), refused('mismatch'));
      }
    });

    it('rejects a signed body that is not an event', async () => {
      for (const text of ['no JSON', '[]', 'null', '{"id":"evt_1"}', Buffer.from([0xff, 0xfe])]) {
        const body = Buffer.from(text as string);
        const headers = { 'x-service-signature': signature(SECRET, body) };
        await assert.rejects(verify.verifyWebhook(body, headers, SECRET), refused('unexpected_body'));
      }
    });

    it('rejects signed times outside the tolerance', async () => {
      const at = (seconds: number) => headersBy(STANDARD, new Date(NOW.getTime() + seconds * 1_000));
      const check = (seconds: number, options = {}) =>
        verify.verifyWebhook(BODY, at(seconds), SECRET, { now: NOW, ...options });
      for (const seconds of [0, -300, 300]) assert.ok(await check(seconds));
      await assert.rejects(check(-301), refused('too_old'));
      await assert.rejects(check(301), refused('too_new'));
      await assert.rejects(check(-11, { toleranceSeconds: 10 }), refused('too_old'));
      assert.ok(await check(-86_400, { toleranceSeconds: null }));
    });

    it('compares with the current time by default', async () => {
      assert.ok(await verify.verifyWebhook(BODY, headersBy(STANDARD, new Date()), SECRET));
      const old = headersBy(STANDARD, new Date(Date.now() - 3_600_000));
      await assert.rejects(verify.verifyWebhook(BODY, old, SECRET), refused('too_old'));
    });

    it('rejects a delivery without a signed time if one is required', async () => {
      const options = { requireTimestamp: true, now: NOW };
      await assert.rejects(
        verify.verifyWebhook(BODY, headersBy({}), SECRET, options),
        refused('missing_timestamp'),
      );
      assert.ok(await verify.verifyWebhook(BODY, headersBy(STANDARD), SECRET, options));
    });

    it('accepts Standard Webhooks headers alone', async () => {
      const standardHeaders = Object.entries(headersBy(STANDARD)).filter(([name]) =>
        name.startsWith('webhook-'),
      );
      const headers = Object.fromEntries(standardHeaders);
      assert.ok(await verify.verifyWebhook(BODY, headers, SECRET, { now: NOW }));
      await assert.rejects(verify.verifyWebhook(BODY, headers, 'other', { now: NOW }), refused('mismatch'));
    });

    it('throws without a secret', async () => {
      await assert.rejects(verify.verifyWebhook(BODY, headersBy({}), ''), TypeError);
      await assert.rejects(verify.verifyWebhook(BODY, headersBy({}), []), TypeError);
    });
  });

  describe('for a callback', () => {
    const body = Buffer.from(
      callbackBody('run-1', {
        state: 'escalated',
        duration_ms: 12,
        started_at: NOW.toISOString(),
        completed_at: NOW.toISOString(),
        output: null,
        errors: [],
      } as unknown as Parameters<typeof callbackBody>[1]),
    );

    it('returns the result of a valid one', async () => {
      const headers = { 'X-Service-Signature': signature(SECRET, body) };
      const callback = await verify.verifyCallback(body, headers, SECRET);
      assert.deepEqual([callback.execution_id, callback.status, callback.output], ['run-1', 'escalated', {}]);
    });

    it('rejects an invalid one', async () => {
      const headers = { 'x-service-signature': signature(SECRET, body) };
      await assert.rejects(verify.verifyCallback(body, headers, 'other'), refused('mismatch'));
      await assert.rejects(
        verify.verifyCallback(`${body.toString()} `, headers, SECRET),
        refused('mismatch'),
      );
      await assert.rejects(verify.verifyCallback(body, {}, SECRET), refused('missing_signature'));
      // A delivery is not a callback, even if one secret is used for both.
      await assert.rejects(verify.verifyCallback(BODY, headersBy({}), SECRET), refused('unexpected_body'));
    });
  });

  it('works in a browser', async () => {
    const { folder } = await installedClient();
    const server = createServer(({ url = '' }, response) => {
      if (url === '/')
        return void response
          .setHeader('content-type', 'text/html')
          .end('<!doctype html><link rel="icon" href="data:,">');
      response.setHeader('content-type', 'text/javascript').end(readFileSync(join(folder, 'dist', url)));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    try {
      const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
      const result = await withPage(async (page, errors) => {
        await page.goto(address);
        const program = `(async () => {
          const { createBaton, verifyWebhook } = await import('/index.js');
          const headers = new Headers(${JSON.stringify(headersBy(STANDARD, new Date()))});
          const { id } = await verifyWebhook(${JSON.stringify(BODY.toString())}, headers, ${JSON.stringify(SECRET)});
          const reason = await verifyWebhook('{}', headers, ${JSON.stringify(SECRET)}).catch((error) => error.reason);
          return [id, reason, typeof createBaton({ baseUrl: location.origin, token: 't' }).tasks.follow];
        })()`;
        return { answer: await page.evaluate<unknown>(program), errors: [...errors] };
      });
      assert.deepEqual(result, { answer: ['evt_1', 'mismatch', 'function'], errors: [] });
    } finally {
      server.close();
    }
  });
});
