import assert from 'node:assert/strict';
import { callbackUrl, urlProblem } from '../../src/domain/common/callback-url.ts';
import { isLoopback } from '../../src/domain/common/loopback.ts';
import {
  exposesSecret,
  isHeaderSafe,
  sendsSecretToNewUrl,
  webhookStatus,
} from '../../src/domain/webhooks/webhook.ts';
import { foundIn } from './found-problems.ts';

describe('a callback URL', () => {
  it('is an https URL of at most 2,048 characters', () => {
    const longest = `https://example.com/${'a'.repeat(2_028)}`;
    for (const url of ['https://example.com', 'https://example.com:8443/a?b=c%20d', longest])
      assert.deepEqual(foundIn(callbackUrl, url), [], url);
    assert.deepEqual(foundIn(callbackUrl, `${longest}a`), [' too_long']);
    for (const url of [
      'http://example.com',
      'HTTPS://example.com',
      ' https://example.com',
      '',
      '//example.com',
    ])
      assert.deepEqual(foundIn(callbackUrl, url), [' not_https'], url);
    assert.deepEqual(foundIn(callbackUrl, 'https://'), [' invalid_format']);
  });

  const rows: [url: string, problem: string | null][] = [
    ['https://example.com/ä', null],
    ['https://example.com/a b', 'must not contain characters that are invalid in a URL'],
    ['https://example.com/\n', 'must not contain characters that are invalid in a URL'],
    ['https://example.com/\u0000', 'must not contain characters that are invalid in a URL'],
    ['https://example.com\\a', 'must not contain characters that are invalid in a URL'],
    ['https://example.com/\ud800', 'must not contain characters that are invalid in a URL'],
    ['https://exa[mple', 'must be a valid URL'],
    ['https://ada@example.com', 'must not contain credentials'],
    ['https://:secret@example.com', 'must not contain credentials'],
    ['https://example.com/#top', 'must not have a fragment'],
    ['https://example.com/#', 'must not have a fragment'],
  ];
  for (const [url, problem] of rows) {
    it(`${problem === null ? 'can be' : 'cannot be'} ${JSON.stringify(url)}`, () => {
      assert.equal(urlProblem(url), problem);
    });
  }
});

describe('the host of this machine', () => {
  it('is localhost or a loopback address', () => {
    for (const host of ['localhost', '127.0.0.1', '127.255.1.22', '[::1]']) assert.ok(isLoopback(host), host);
    const others = [
      'localhost.example.com',
      '127.0.0.1.example.com',
      'a127.0.0.1',
      '127.0.0',
      '128.0.0.1',
      '[::2]',
    ];
    for (const host of others) assert.ok(!isLoopback(host), host);
  });
});

describe('a change of a webhook', () => {
  const plain = { url: 'http://example.com/a', include_secret_header: true };

  const rows: [what: string, before: typeof plain, after: typeof plain, exposes: boolean][] = [
    ['turns the header with the secret on', { ...plain, include_secret_header: false }, plain, true],
    ['has another address', { ...plain, url: 'http://example.com/b' }, plain, true],
    ['leaves https', { ...plain, url: 'https://example.com/a' }, plain, true],
    ['changes neither', plain, plain, false],
    ['turns the header off', plain, { ...plain, include_secret_header: false }, false],
    [
      'has an address without the header',
      plain,
      { url: 'http://b.com', include_secret_header: false },
      false,
    ],
    ['goes to https', plain, { ...plain, url: 'https://example.com/a' }, false],
    ['goes to this machine', plain, { ...plain, url: 'http://localhost:3000/' }, false],
    ['has no valid address', plain, { ...plain, url: 'http://' }, false],
  ];
  for (const [what, before, after, exposes] of rows) {
    it(`${exposes ? 'exposes' : 'does not expose'} its secret if it ${what}`, () => {
      assert.equal(exposesSecret(before, after), exposes);
    });
  }

  it('sends its secret to a new URL if the header is turned on, or the URL changes while it is on', () => {
    const on = { url: 'https://example.com/a', include_secret_header: true };
    const off = { ...on, include_secret_header: false };
    const other = { ...on, url: 'https://example.com/b' };
    const outcomes = [
      [off, on],
      [on, other],
      [on, on],
      [on, off],
      [off, { ...other, include_secret_header: false }],
    ] as const;
    assert.deepEqual(
      outcomes.map(([before, after]) => sendsSecretToNewUrl(before, after)),
      [true, true, false, false, false],
    );
  });

  it('shows the webhook as disabled by failures before inactive', () => {
    const at = new Date(0);
    assert.equal(webhookStatus({ active: true, disabled_at: null }), 'active');
    assert.equal(webhookStatus({ active: false, disabled_at: null }), 'inactive');
    assert.equal(webhookStatus({ active: true, disabled_at: at }), 'disabled');
    assert.equal(webhookStatus({ active: false, disabled_at: at }), 'disabled');
  });

  it('can put a secret of visible ASCII into a header', () => {
    for (const secret of ['!', '~', 'aB3-']) assert.ok(isHeaderSafe(secret), secret);
    for (const secret of ['', ' a', 'a ', 'a b', 'é', 'a\n', '\u007f'])
      assert.ok(!isHeaderSafe(secret), secret);
  });
});
