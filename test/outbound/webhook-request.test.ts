import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { createAddressGuard, createAddressSet, judgeUrlHost } from '../../src/outbound/address-guard.ts';
import { OutboundFailure } from '../../src/outbound/failure.ts';
import { embeddedIPv4, parseAddress } from '../../src/outbound/ip-address.ts';
import { allowedAddresses, shareLookups } from '../../src/outbound/resolve.ts';
import {
  loggedHeaders,
  webhookHeaders,
  withoutRepeatedSecret,
  withoutRepeatedSignatures,
  withoutSignatures,
  type Signing,
} from '../../src/outbound/webhook-request.ts';

const BODY = Buffer.from('{"id":"evt_1"}');
const MESSAGE = {
  deliveryId: 'd-1',
  event: 'issue.created',
  timestamp: new Date('2026-01-31T12:00:00.000Z'),
  body: BODY,
};
const NOW = new Date('2026-01-31T12:00:07.900Z');
const UNSIGNED: Signing = {
  secret: null,
  previousSecret: null,
  includeSecretHeader: true,
  standardWebhooks: true,
};
const PLAIN = {
  'content-type': 'application/json',
  'x-service-event': 'issue.created',
  'x-service-delivery': 'd-1',
  'x-service-timestamp': '2026-01-31T12:00:00.000Z',
};
const hmac = (secret: string, text: string | Buffer, form: 'hex' | 'base64') =>
  createHmac('sha256', secret).update(text).digest(form);
const signed = (change: Partial<Signing>) =>
  webhookHeaders(
    MESSAGE,
    { ...UNSIGNED, secret: 's3cret', includeSecretHeader: false, standardWebhooks: false, ...change },
    NOW,
  );

describe('the headers of a delivery', () => {
  const own = { ...PLAIN, 'x-service-signature': `sha256=${hmac('s3cret', BODY, 'hex')}` };

  it('have no signature without a secret, whatever else is set', () => {
    assert.deepEqual(webhookHeaders(MESSAGE, UNSIGNED, NOW), PLAIN);
  });

  it('have a signature of the body', () => {
    assert.deepEqual(signed({}), own);
  });

  it('have a second signature while the previous secret is valid', () => {
    assert.deepEqual(signed({ previousSecret: 'old' }), {
      ...own,
      'x-service-signature-previous': `sha256=${hmac('old', BODY, 'hex')}`,
    });
  });

  it('contain the secret only if the webhook says so', () => {
    assert.deepEqual(signed({ includeSecretHeader: true }), { ...own, 'x-webhook-secret': 's3cret' });
  });

  it('can have those of Standard Webhooks, with the time of the attempt in seconds', () => {
    const text = `d-1.${Math.floor(NOW.getTime() / 1_000)}.${BODY.toString()}`;
    const standard = { 'webhook-id': 'd-1', 'webhook-timestamp': '1769860807' };
    assert.deepEqual(signed({ standardWebhooks: true }), {
      ...own,
      ...standard,
      'webhook-signature': `v1,${hmac('s3cret', text, 'base64')}`,
    });
    assert.equal(
      signed({ standardWebhooks: true, previousSecret: 'old' })['webhook-signature'],
      `v1,${hmac('s3cret', text, 'base64')} v1,${hmac('old', text, 'base64')}`,
    );
  });

  it('are logged without the secret, and shown to readers without signatures', () => {
    const all = signed({ includeSecretHeader: true, standardWebhooks: true, previousSecret: 'old' });
    assert.deepEqual(loggedHeaders(all), { ...all, 'x-webhook-secret': '********' });
    const masked = Object.fromEntries(
      ['x-service-signature', 'x-service-signature-previous', 'webhook-signature'].map((name) => [
        name,
        '********',
      ]),
    );
    assert.deepEqual(withoutSignatures(all), { ...all, ...masked });
  });
});

describe('a response that repeats its request', () => {
  const SECRET = 'a "quoted" s3cret';
  const sent = signed({
    secret: SECRET,
    includeSecretHeader: true,
    standardWebhooks: true,
    previousSecret: 'older1',
  });
  const text = Object.entries(sent)
    .map(([name, value]) => `${name}: ${value}`)
    .join('; ');
  const repeated = { headers: { 'x-echo': text, server: 'a' }, body: `${text}; ${JSON.stringify(sent)}` };
  const hashes = ['x-service-signature', 'x-service-signature-previous', 'webhook-signature'].flatMap(
    (name) => (sent[name] ?? '').split(' ').map((value) => value.replace(/^(sha256=|v1,)/, '')),
  );

  it('is stored without the secret, also as it is written in JSON, and otherwise unchanged', () => {
    const escaped = JSON.stringify(SECRET).slice(1, -1);
    const { headers, body } = withoutRepeatedSecret(repeated, sent);
    assert.deepEqual(headers, { 'x-echo': text.replaceAll(SECRET, '********'), server: 'a' });
    assert.equal(body, repeated.body.replaceAll(SECRET, '********').replaceAll(escaped, '********'));
    for (const hash of hashes) assert.ok(body?.includes(hash));
  });

  it('is shown to readers without the signatures, each without its prefix', () => {
    assert.equal(hashes.length, 4);
    const { headers, body } = withoutRepeatedSignatures(repeated, sent);
    for (const hash of hashes) assert.ok(!headers?.['x-echo']?.includes(hash) && !body?.includes(hash), hash);
    assert.ok(body?.includes('sha256=********') && body.includes('v1,******** v1,********'));
    assert.ok(body?.includes(SECRET), 'the secret is masked before it is stored');
  });

  it('is unchanged if it has no body or no headers, or the request has no secret', () => {
    assert.deepEqual(withoutRepeatedSecret({ headers: null, body: null }, sent), {
      headers: null,
      body: null,
    });
    assert.deepEqual(withoutRepeatedSecret({ headers: {}, body: '' }, sent), { headers: {}, body: '' });
    assert.deepEqual(withoutRepeatedSecret(repeated, PLAIN), repeated);
    assert.deepEqual(withoutRepeatedSignatures(repeated, PLAIN), repeated);
  });

  it('keeps text that equals a secret of fewer than six characters', () => {
    const shown = (secret: string) =>
      withoutRepeatedSecret({ headers: null, body: `- ${secret} -` }, { 'x-webhook-secret': secret }).body;
    assert.equal(shown('abcde'), '- abcde -');
    assert.equal(shown('abcdef'), '- ******** -');
  });
});

describe('the addresses of a host', () => {
  const strict = createAddressGuard([]);
  const resolving = (...addresses: string[]) => ({ lookup: async () => addresses });
  const unused = () => assert.fail('it is looked up');
  const failureOf = async (found: Promise<unknown>) => {
    const error: unknown = await found.then(
      () => assert.fail('it is allowed'),
      (reason: unknown) => reason,
    );
    assert.ok(error instanceof OutboundFailure);
    return [error.kind, error.message];
  };

  it('are the allowed ones of its name, each once', async () => {
    const { lookup } = resolving('1.1.1.1', '10.0.0.1', '1.1.1.1', '8.8.8.8');
    assert.deepEqual(await allowedAddresses('example.com', lookup, strict), ['1.1.1.1', '8.8.8.8']);
  });

  it('are a literal address itself, without a lookup', async () => {
    assert.deepEqual(await allowedAddresses('1.1.1.1', unused, strict), ['1.1.1.1']);
    assert.deepEqual(await failureOf(allowedAddresses('10.0.0.1', unused, strict)), [
      'address_refused',
      'Address not allowed: 10.0.0.1 is a private address',
    ]);
  });

  it('are refused if none is allowed, without naming those of an internal name', async () => {
    const { lookup } = resolving('10.0.0.1', '127.0.0.1');
    assert.deepEqual(await failureOf(allowedAddresses('internal', lookup, strict)), [
      'address_refused',
      'Address not allowed: the name resolves to a private address',
    ]);
  });

  it('are missing if the name has none, or cannot be looked up', async () => {
    const { lookup } = resolving();
    assert.deepEqual((await failureOf(allowedAddresses('empty', lookup, strict)))[0], 'lookup_failed');
    const broken = () => Promise.reject(Object.assign(new Error('no'), { code: 'ESERVFAIL' }));
    assert.deepEqual(await failureOf(allowedAddresses('unknown', broken, strict)), [
      'lookup_failed',
      'DNS lookup failed (ESERVFAIL)',
    ]);
  });
});

describe('concurrent lookups', () => {
  it('of the same name share one, whose result is not kept', async () => {
    const asked: string[] = [];
    const lookup = shareLookups(async (hostname) => {
      asked.push(hostname);
      return [`${hostname} ${asked.length}`];
    });
    const both = await Promise.all([lookup('a'), lookup('a'), lookup('b')]);
    assert.deepEqual(both, [['a 1'], ['a 1'], ['b 2']]);
    assert.deepEqual(await lookup('a'), ['a 3']);
  });

  it('share a failure, which is not kept either', async () => {
    let count = 0;
    const lookup = shareLookups(async () => {
      if ((count += 1) === 1) throw new Error('no answer');
      return ['192.0.2.1'];
    });
    const both = await Promise.allSettled([lookup('a'), lookup('a')]);
    assert.deepEqual(
      both.map(({ status }) => status),
      ['rejected', 'rejected'],
    );
    assert.deepEqual(await lookup('a'), ['192.0.2.1']);
    assert.equal(count, 2);
  });
});

describe('an IP address', () => {
  it('may have brackets and a zone', () => {
    assert.deepEqual(parseAddress('1.2.3.4'), { family: 'ipv4', text: '1.2.3.4' });
    const bytes = Uint8Array.from([0xfe, 0x80, ...Array.from({ length: 13 }, () => 0), 1]);
    for (const literal of ['fe80::1', '[fe80::1]', 'fe80::1%eth0', '[fe80::1%25eth0]'])
      assert.deepEqual(parseAddress(literal), { family: 'ipv6', text: 'fe80::1', bytes }, literal);
    for (const literal of [
      '',
      '[]',
      'example.com',
      '1.2.3',
      'x[::1]',
      '[::1]x',
      '[::1',
      '::1]',
      '[::1]%eth0',
      '1[::1]',
    ])
      assert.equal(parseAddress(literal), null, literal);
  });

  const rows: [literal: string, hex: string][] = [
    ['::', '00000000000000000000000000000000'],
    ['::1', '00000000000000000000000000000001'],
    ['1::', '00010000000000000000000000000000'],
    ['1:2:3:4:5:6:7:8', '00010002000300040005000600070008'],
    ['1:2::7:8', '00010002000000000000000000070008'],
    ['abcd:ef01::', 'abcdef01000000000000000000000000'],
    ['::1.2.3.4', '00000000000000000000000001020304'],
    ['::ffff:255.254.253.252', '00000000000000000000fffffffefdfc'],
    ['1:2:3:4:5:6:1.2.3.4', '00010002000300040005000601020304'],
  ];
  for (const [literal, hex] of rows) {
    it(`has the bytes of ${literal}`, () => {
      const address = parseAddress(literal);
      assert.equal(address?.family === 'ipv6' && Buffer.from(address.bytes).toString('hex'), hex);
    });
  }

  it('of IPv6 may map to one of IPv4', () => {
    const embedded = (literal: string) => {
      const address = parseAddress(literal);
      return address?.family === 'ipv6' ? embeddedIPv4(address.bytes) : undefined;
    };
    assert.equal(embedded('::ffff:1.2.3.4'), '1.2.3.4');
    assert.equal(embedded('64:ff9b::1.2.3.4'), '1.2.3.4');
    assert.equal(embedded('2002:102:304:ffff::1'), '1.2.3.4');
    for (const literal of ['::1.2.3.4', '::fffe:1.2.3.4', '64:ff9b:1::1.2.3.4', '2001:102:304::'])
      assert.equal(embedded(literal), null, literal);
  });

  it('is in a set of ranges and single addresses', () => {
    const set = createAddressSet(['10.0.0.0/8', 'fd00::/8', '1.2.3.4']);
    for (const address of ['10.1.2.3', 'fd12::1', '1.2.3.4', '[fd12::1]'])
      assert.ok(set.has(address), address);
    for (const address of ['11.0.0.0', 'fe00::1', '1.2.3.5', 'example.com', ''])
      assert.ok(!set.has(address), address);
  });
});

describe('the reason of a refusal', () => {
  const strict = createAddressGuard([]);

  it('names the address, and its kind without it', () => {
    assert.deepEqual(strict.judge('10.0.0.1'), {
      allowed: false,
      reason: '10.0.0.1 is a private address',
      kind: 'a private address',
    });
    assert.deepEqual(strict.judge('[::ffff:10.0.0.1]'), {
      allowed: false,
      reason: '::ffff:10.0.0.1 maps to an IPv4 address, and 10.0.0.1 is a private address',
      kind: 'a private address',
    });
    assert.deepEqual(strict.judge('x'), {
      allowed: false,
      reason: 'x is not an IP address',
      kind: 'not an IP address',
    });
  });

  it('of localhost is that it is this machine, unless one of its addresses is allowed', () => {
    const judge = (url: string, ...allow: string[]) => judgeUrlHost(new URL(url), createAddressGuard(allow));
    assert.deepEqual(judge('http://a.localhost./'), {
      allowed: false,
      reason: 'a.localhost resolves to a loopback address',
      kind: 'a loopback address',
    });
    assert.equal(judge('http://localhost/', '::1').allowed, true);
    assert.equal(judge('http://localhost/', '127.0.0.1').allowed, true);
    assert.equal(judge('http://localhost/', '127.0.0.2').allowed, false);
    assert.equal(judge('http://mylocalhost/').allowed, true);
    assert.equal(judge('http://localhost.example.com/').allowed, true);
  });
});
