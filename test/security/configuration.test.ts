import assert from 'node:assert/strict';
import {
  ConfigurationError,
  readConfiguration,
  type Configuration,
} from '../../src/runtime/configuration.ts';
import { readProcessConfiguration } from '../../src/runtime/process-configuration.ts';

const RING = `a:${Buffer.alloc(32, 1).toString('base64')}`;
const NEEDED = {
  DATABASE_URL: 'postgres://user:pass@localhost/baton',
  BATON_SEALING_KEYS: RING,
  BATON_TOKEN_KEYS: RING,
};

describe('the configuration', () => {
  it('needs and reads only the secrets of its process', () => {
    const all = {
      ...NEEDED,
      BATON_PAYLOAD_KEYS: RING,
      OPENAI_API_KEY: 'sk-1',
      SMTP_URL: 'smtp://localhost',
      MAIL_FROM: 'a@example.com',
    };
    const { BATON_TOKEN_KEYS: _, ...withoutTokens } = all;
    const { BATON_SEALING_KEYS: __, ...withoutSealing } = all;
    for (const name of ['task-worker', 'delivery-worker'] as const) {
      assert.ok(readProcessConfiguration(name, withoutTokens).sealingKeys);
      assert.throws(() => readProcessConfiguration(name, withoutSealing), /BATON_SEALING_KEYS is missing/);
      assert.equal((readProcessConfiguration(name, all) as Partial<Configuration>).tokenKeys, undefined);
    }
    assert.ok(readProcessConfiguration('gateway', withoutSealing).tokenKeys);
    assert.throws(() => readProcessConfiguration('gateway', withoutTokens), /BATON_TOKEN_KEYS is missing/);
    assert.throws(() => readProcessConfiguration('api', withoutTokens), /BATON_TOKEN_KEYS is missing/);
    assert.equal(readProcessConfiguration('task-worker', all).models.openai.apiKey, 'sk-1');
    assert.equal(readProcessConfiguration('task-worker', all).mail, null);
    assert.equal(readProcessConfiguration('delivery-worker', all).models.openai.apiKey, null);
    assert.ok(readProcessConfiguration('delivery-worker', all).mail);
    // It does not read an unneeded secret, so it accepts any value.
    assert.ok(readProcessConfiguration('task-worker', { ...all, BATON_TOKEN_KEYS: 'x' }));
  });

  it('has defaults for all but the database and the keys', () => {
    const configuration = readConfiguration({ ...NEEDED, PORT: '' });
    assert.equal(configuration.port, 3000);
    assert.equal(configuration.host, '127.0.0.1');
    assert.equal(configuration.baseUrl, null);
    assert.equal(configuration.taskQueue, 'baton');
    assert.equal(configuration.eagerStart, true);
    assert.deepEqual(configuration.outboundAllow, []);
    assert.deepEqual(configuration.rateLimit, { perSecond: 200, burst: 1_000 });
    assert.deepEqual(configuration.attemptsAtOnce, { perWebhook: 10, overall: 1_000 });
    assert.equal(configuration.identityProvider, null);
  });

  it('contains how long each kind of data is kept, in days', () => {
    const keptIn = ({ runsKeptDays, keptDays }: Configuration) => ({ runs: runsKeptDays, ...keptDays });
    assert.deepEqual(keptIn(readConfiguration(NEEDED)), {
      runs: 180,
      payloads: 30,
      deliveries: 90,
      skipped: 7,
      notifications: 90,
    });
    const given = {
      RUNS_KEPT_DAYS: '1',
      PAYLOADS_KEPT_DAYS: '2',
      DELIVERIES_KEPT_DAYS: '3',
      SKIPPED_KEPT_DAYS: '4',
      NOTIFICATIONS_KEPT_DAYS: '5',
    };
    assert.deepEqual(keptIn(readConfiguration({ ...NEEDED, ...given })), {
      runs: 1,
      payloads: 2,
      deliveries: 3,
      skipped: 4,
      notifications: 5,
    });
  });

  it('contains the given values', () => {
    const configuration = readConfiguration({
      ...NEEDED,
      BASE_URL: 'https://baton.example.com/',
      OUTBOUND_ALLOW: '127.0.0.0/8, ::1/128',
      EAGER_START: 'false',
      JWKS_URL: 'https://login.example.com/keys',
      JWT_ISSUER: 'https://login.example.com',
      JWT_AUDIENCE: 'baton',
    });
    assert.equal(configuration.baseUrl, 'https://baton.example.com');
    assert.deepEqual(configuration.outboundAllow, ['127.0.0.0/8', '::1/128']);
    assert.equal(configuration.eagerStart, false);
    assert.equal(configuration.identityProvider?.projectClaim, 'project_id');
  });

  it('requires an issuer, an audience and https for JWKS_URL', () => {
    const whole = {
      ...NEEDED,
      JWKS_URL: 'https://login.example.com/keys',
      JWT_ISSUER: 'https://login.example.com',
      JWT_AUDIENCE: 'baton',
    };
    const { JWT_ISSUER: _issuer, ...withoutIssuer } = whole;
    assert.throws(() => readConfiguration(withoutIssuer), /JWT_ISSUER is missing/);
    const { JWT_AUDIENCE: _audience, ...withoutAudience } = whole;
    assert.throws(() => readConfiguration(withoutAudience), /JWT_AUDIENCE is missing/);
    const insecure = { ...whole, JWKS_URL: 'http://login.example.com/keys' };
    assert.throws(() => readConfiguration(insecure), /JWKS_URL must start with https/);
    assert.ok(readConfiguration({ ...whole, JWKS_URL: 'http://127.0.0.1:1/keys' }).identityProvider);
  });

  it('names an invalid range in OUTBOUND_ALLOW', () => {
    for (const wrong of ['10.0.0.0/33', '10.0.0.0/8,internal'])
      assert.throws(
        () => readConfiguration({ ...NEEDED, OUTBOUND_ALLOW: wrong }),
        /OUTBOUND_ALLOW contains an invalid range: "(10\.0\.0\.0\/33|internal)"/,
      );
    assert.deepEqual(readConfiguration({ ...NEEDED, OUTBOUND_ALLOW: '' }).outboundAllow, []);
  });

  it('accepts ranges in TRUSTED_PROXIES, and names an invalid one', () => {
    const TRUSTED_PROXIES = '10.0.0.0/8, fd00::/8,192.0.2.1';
    const { trustedProxies } = readConfiguration({ ...NEEDED, TRUSTED_PROXIES });
    assert.deepEqual(trustedProxies, ['10.0.0.0/8', 'fd00::/8', '192.0.2.1']);
    const wrong = { ...NEEDED, TRUSTED_PROXIES: '10.0.0.0/33' };
    assert.throws(
      () => readConfiguration(wrong),
      /TRUSTED_PROXIES contains an invalid range: "10\.0\.0\.0\/33"/,
    );
  });

  it('accepts a build id, which disables eager starts', () => {
    const { version, eagerStart } = readConfiguration({
      ...NEEDED,
      BATON_BUILD_ID: '1.4.2',
      EAGER_START: 'true',
    });
    assert.deepEqual(version, { deployment: 'baton', build: '1.4.2' });
    assert.equal(eagerStart, false);
    const named = { ...NEEDED, BATON_BUILD_ID: 'a1b2c3', BATON_DEPLOYMENT: 'staging' };
    assert.deepEqual(readConfiguration(named).version, { deployment: 'staging', build: 'a1b2c3' });
    assert.equal(readConfiguration(NEEDED).version, null);
    const dotted = { ...NEEDED, BATON_BUILD_ID: '2', BATON_TASK_QUEUE: 'baton.staging' };
    assert.throws(() => readConfiguration(dotted), /BATON_DEPLOYMENT is missing/);
    assert.throws(() => readConfiguration({ ...NEEDED, BATON_BUILD_ID: 'a b' }), /BATON_BUILD_ID must be/);
    assert.throws(() => readConfiguration({ ...named, BATON_DEPLOYMENT: 'a.b' }), /BATON_DEPLOYMENT must be/);
  });

  it('accepts SMTP_URL and MAIL_FROM only together', () => {
    const SMTP_URL = 'smtps://user:pass@mail.example.com';
    for (const MAIL_FROM of [
      'baton@example.com',
      'Baton <baton@example.com>',
      'Bäton Mail <b@example.com>',
    ]) {
      const { mail } = readConfiguration({ ...NEEDED, SMTP_URL, MAIL_FROM });
      assert.deepEqual(mail, { smtpUrl: SMTP_URL, from: MAIL_FROM });
    }
    assert.equal(readConfiguration(NEEDED).mail, null);
    const wrong: [object, RegExp][] = [
      [{ SMTP_URL }, /^MAIL_FROM is missing: SMTP_URL requires it\.$/],
      [{ MAIL_FROM: 'baton@example.com' }, /^SMTP_URL is missing: MAIL_FROM requires it\.$/],
      [{ SMTP_URL: 'mail.example.com:25', MAIL_FROM: 'b@example.com' }, /^SMTP_URL must be an address/],
      [{ SMTP_URL: 'smtp://', MAIL_FROM: 'b@example.com' }, /^SMTP_URL must name a host\.$/],
      [{ SMTP_URL, MAIL_FROM: 'baton' }, /^MAIL_FROM must be an address/],
      [{ SMTP_URL, MAIL_FROM: 'Baton\nBcc: <b@example.com>' }, /^MAIL_FROM must be an address/],
    ];
    for (const [members, sentence] of wrong) {
      assert.throws(() => readConfiguration({ ...NEEDED, ...members }), { message: sentence });
    }
  });

  it('accepts an OpenID provider with a client id and allowed domains', () => {
    const provider = { OIDC_ISSUER: 'https://login.example.com', OIDC_CLIENT_ID: 'baton' };
    const openIdOf = (members: object) => readConfiguration({ ...NEEDED, ...members }).openId;
    assert.equal(openIdOf({}), null);
    assert.deepEqual(openIdOf(provider), {
      issuer: 'https://login.example.com',
      clientId: 'baton',
      clientSecret: null,
      name: 'single sign-on',
      joining: null,
    });
    const domains = { OIDC_ALLOWED_DOMAINS: 'Example.com, sub.example.org' };
    assert.deepEqual(openIdOf({ ...provider, ...domains, OIDC_JOIN_ROLE: 'member' })?.joining, {
      domains: ['example.com', 'sub.example.org'],
      role: 'member',
    });
    assert.equal(openIdOf({ ...provider, ...domains })?.joining?.role, 'viewer');
    assert.ok(openIdOf({ ...provider, OIDC_ISSUER: 'http://127.0.0.1:8080' }));
    const wrong: [object, RegExp][] = [
      [{ OIDC_ISSUER: 'https://login.example.com' }, /^OIDC_CLIENT_ID is missing/],
      [{ OIDC_CLIENT_ID: 'baton' }, /^OIDC_ISSUER is missing/],
      [{ ...provider, OIDC_ISSUER: 'http://login.example.com' }, /^OIDC_ISSUER must start with https/],
      [{ ...provider, OIDC_ALLOWED_DOMAINS: '@example.com' }, /^OIDC_ALLOWED_DOMAINS must be domains/],
      [{ ...provider, OIDC_ALLOWED_DOMAINS: '*' }, /^OIDC_ALLOWED_DOMAINS must be domains/],
      [{ ...provider, ...domains, OIDC_JOIN_ROLE: 'admin' }, /^OIDC_JOIN_ROLE must be viewer or member/],
    ];
    for (const [members, sentence] of wrong) {
      assert.throws(() => readConfiguration({ ...NEEDED, ...members }), { message: sentence });
    }
  });

  it('accepts only single addresses in SOURCE_ADDRESSES', () => {
    const rangesOf = (SOURCE_ADDRESSES: string) =>
      readConfiguration({ ...NEEDED, SOURCE_ADDRESSES }).sourceAddresses;
    assert.deepEqual(rangesOf(''), []);
    assert.deepEqual(rangesOf('203.0.113.7'), ['203.0.113.7/32']);
    assert.deepEqual(rangesOf(' 2001:DB8::7 ,203.0.113.8/32'), ['2001:db8::7/128', '203.0.113.8/32']);
    const wrong = [
      '203.0.113.0/24',
      'baton.example.com',
      '203.0.113.7,',
      '203.0.113',
      'fe80::1%eth0',
      '::1/32',
    ];
    for (const addresses of [...wrong, '203.0.113.7/32/32']) {
      assert.throws(() => rangesOf(addresses), { message: /^SOURCE_ADDRESSES must be single addresses/ });
    }
  });

  it('names every invalid variable in a sentence, and reveals no secrets', () => {
    const bad = {
      PORT: '70000',
      BASE_URL: 'baton.example.com',
      DATABASE_URL: 'mysql://user:pass@localhost/baton',
      BATON_SEALING_KEYS: 'a:c2VjcmV0',
      EAGER_START: 'yes',
      LOG_LEVEL: 'loud',
      RATE_LIMIT_BURST: '0',
      BATON_TASK_QUEUE: 'a b',
    };
    assert.throws(
      () => readConfiguration(bad),
      (error: unknown) => {
        assert.ok(error instanceof ConfigurationError);
        const lines = error.message.split('\n');
        const named = [...Object.keys(bad), 'BATON_TOKEN_KEYS'];
        assert.deepEqual(new Set(lines.map((line) => line.split(' ')[0])), new Set(named));
        assert.ok(lines.every((line) => line.endsWith('.')));
        assert.ok(!/pass|c2VjcmV0/.test(error.message));
        return true;
      },
    );
  });
});
