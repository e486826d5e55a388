import assert from 'node:assert/strict';
import { checkHeaderSecret, resolveChange } from '../../src/api/webhooks/change.ts';
import { Problem } from '../../src/api/http/problem.ts';
import type { WebhookEdit } from '../../src/domain/webhooks/webhook-plan.ts';
import { createAddressGuard } from '../../src/outbound/address-guard.ts';
import { parseKeyRing } from '../../src/security/key-ring.ts';
import { createSealing, webhookSecretContext } from '../../src/security/sealing.ts';

const HTTPS = 'https://hooks.example.com/in';
const HTTP = 'http://hooks.example.com/in';
const sealing = createSealing(parseKeyRing(`a:${Buffer.alloc(32, 1).toString('base64')}`));
const deps = { guard: createAddressGuard([]), sealing };
type Row = Parameters<typeof resolveChange>[1];
const ROW: Row = {
  id: 'webhook-id',
  url: HTTPS,
  secret: 'sealed',
  include_secret_header: false,
  standard_webhooks: false,
  listening_until: null,
};
const WITH_HEADER: Row = { ...ROW, include_secret_header: true };

/** Returns the pointers of the errors of an edit with their messages. */
function errorsOf(row: Row, edit: WebhookEdit): Record<string, string> {
  try {
    resolveChange(deps, row, edit);
    return {};
  } catch (error) {
    assert.ok(error instanceof Problem);
    assert.equal(error.code, 'validation_failed');
    assert.equal(error.message, error.errors?.map(({ message }) => message).join(' '));
    return Object.fromEntries((error.errors ?? []).map(({ pointer, message }) => [pointer ?? '', message]));
  }
}

describe('the change of a webhook', () => {
  it('contains what is stored, without what is not, and the sealed secret', () => {
    const events = [{ event: 'issue.created' as const, filters: [] }];
    const stored = { name: 'N', url: HTTPS, events, include_secret_header: true, active: false };
    const edit = { ...stored, method: 'POST', content_type: 'application/json' } as const;
    const { secret, ...change } = resolveChange(deps, ROW, {
      ...edit,
      standard_webhooks: true,
      allow_secret_over_http: true,
      secret: 'clear',
      description: 'D',
    });
    assert.deepEqual(change, { ...stored, standard_webhooks: true, description: 'D' });
    assert.equal(sealing.open(secret ?? '', webhookSecretContext('webhook-id')), 'clear');
    assert.deepEqual(resolveChange(deps, ROW, {}), {});
    for (const description of ['', null])
      assert.deepEqual(resolveChange(deps, ROW, { description }), { description: null });
    assert.deepEqual(resolveChange(deps, ROW, { secret: null }), { secret: null });
  });

  const required = {
    header: '`include_secret_header` requires a secret.',
    standard: '`standard_webhooks` requires a secret.',
  };
  const removed = (option: string) => `\`secret\` is required by \`${option}\`; disable that option too.`;
  const unsafe = '`secret` must consist of visible ASCII characters to be sent in a header.';
  const repeated =
    '`secret` is required to send it to a new URL; repeat the current secret or set a new one.';
  const consent =
    '`allow_secret_over_http` must be true to send the secret over plain http, where anyone between Baton and the receiver can read it.';
  const listener = '`include_secret_header` is not supported for a webhook of a listener.';
  const CASES: [what: string, row: Row, edit: WebhookEdit, errors: Record<string, string>][] = [
    [
      'options without a secret',
      { ...ROW, secret: null },
      { include_secret_header: true, standard_webhooks: true },
      { '/include_secret_header': required.header, '/standard_webhooks': required.standard },
    ],
    [
      'the removal of a secret that the header requires',
      WITH_HEADER,
      { secret: null },
      { '/secret': removed('include_secret_header') },
    ],
    [
      'the removal of a secret that the standard headers require',
      { ...ROW, standard_webhooks: true },
      { secret: null },
      { '/secret': removed('standard_webhooks') },
    ],
    [
      'the removal of a secret with its option',
      WITH_HEADER,
      { secret: null, include_secret_header: false },
      {},
    ],
    ['an option with a new secret', { ...ROW, secret: null }, { secret: 's', standard_webhooks: true }, {}],
    ['an unsafe secret in the header', WITH_HEADER, { secret: 'a b' }, { '/secret': unsafe }],
    ['an unsafe secret without the header', ROW, { secret: 'a b', standard_webhooks: true }, {}],
    ['the header with a stored secret', ROW, { include_secret_header: true }, { '/secret': repeated }],
    ['the header with a repeated secret', ROW, { include_secret_header: true, secret: 's' }, {}],
    ['another URL of a secret in the header', WITH_HEADER, { url: `${HTTPS}2` }, { '/secret': repeated }],
    ['the same URL of a secret in the header', WITH_HEADER, { url: HTTPS }, {}],
    ['another URL without the header', ROW, { url: HTTP }, {}],
    [
      'http for a secret in the header',
      WITH_HEADER,
      { url: HTTP },
      { '/secret': repeated, '/allow_secret_over_http': consent },
    ],
    [
      'http without consent',
      WITH_HEADER,
      { url: HTTP, secret: 's', allow_secret_over_http: false },
      { '/allow_secret_over_http': consent },
    ],
    ['http with consent', WITH_HEADER, { url: HTTP, secret: 's', allow_secret_over_http: true }, {}],
    [
      'a private address and an unsafe secret',
      WITH_HEADER,
      { url: 'http://10.0.0.1/', secret: 'ä' },
      { '/url': '`url` is not allowed: 10.0.0.1 is a private address.', '/secret': unsafe },
    ],
    [
      'the header for a listener',
      { ...ROW, listening_until: new Date() },
      { include_secret_header: true, secret: 's' },
      { '/include_secret_header': listener },
    ],
    [
      'any address for a listener',
      { ...ROW, listening_until: new Date() },
      { url: 'http://10.0.0.1/', include_secret_header: false },
      {},
    ],
  ];
  for (const [what, row, edit, errors] of CASES) {
    it(`is ${Object.keys(errors).length > 0 ? 'refused' : 'possible'}: ${what}`, () =>
      assert.deepEqual(errorsOf(row, edit), errors));
  }

  it('is a rotation to a secret that the header can contain', () => {
    checkHeaderSecret({ include_secret_header: false }, 'a b');
    checkHeaderSecret({ include_secret_header: true }, 'ab');
    assert.throws(() => checkHeaderSecret({ include_secret_header: true }, 'a b'), {
      code: 'validation_failed',
      message: unsafe,
      errors: [{ pointer: '/secret', code: 'invalid_format', message: unsafe }],
    });
  });
});
