import assert from 'node:assert/strict';
import { clientAddress, networkOf } from '../../src/api/http/client-address.ts';
import { createAddressSet } from '../../src/outbound/address-guard.ts';
import { WRONG_PASSWORDS } from '../../src/domain/common/limits.ts';
import { useOwnWorld } from '../support/world.ts';

describe('the IP address of a client', () => {
  const trusted = createAddressSet(['10.0.0.0/8', '127.0.0.1', 'fd00::/8']);
  const CASES: [remote: string, forwardedFor: string, client: string][] = [
    ['203.0.113.9', '', '203.0.113.9'],
    ['203.0.113.9', '198.51.100.1', '203.0.113.9'],
    ['10.0.0.1', '', '10.0.0.1'],
    ['10.0.0.1', '198.51.100.1', '198.51.100.1'],
    ['10.0.0.1', '192.0.2.66, 198.51.100.1', '198.51.100.1'],
    ['10.0.0.1', '192.0.2.66, 198.51.100.1, 10.0.0.7', '198.51.100.1'],
    ['10.0.0.1', '10.0.0.3, 10.0.0.2', '10.0.0.3'],
    ['10.0.0.1', 'unknown', '10.0.0.1'],
    ['10.0.0.1', '198.51.100.1, unknown', '10.0.0.1'],
    ['10.0.0.1', '198.51.100.1:4711', '198.51.100.1'],
    ['::ffff:10.0.0.1', '198.51.100.1', '198.51.100.1'],
    ['fd00::1', '[2001:db8::5]:4711', '2001:db8::5'],
    ['fd00::1', '2001:db8::5', '2001:db8::5'],
  ];
  for (const [remote, forwardedFor, client] of CASES) {
    it(`is ${client} for a connection from ${remote} with "${forwardedFor}"`, () => {
      assert.equal(clientAddress(remote, forwardedFor, trusted), client);
    });
  }
});

describe('the limits by IP address', () => {
  const CASES: [address: string, network: string][] = [
    ['203.0.113.9', '203.0.113.9'],
    ['2001:db8:1:2::5', '20010db800010002/64'],
    ['2001:db8:1:2:ffff::1', '20010db800010002/64'],
    ['2001:db8:1:3::5', '20010db800010003/64'],
    ['no address', 'no address'],
  ];
  for (const [address, network] of CASES) {
    it(`count ${address} as ${network}`, () => {
      assert.equal(networkOf(address), network);
    });
  }
});

describe('a service behind a trusted proxy', () => {
  const world = useOwnWorld(async () => ({
    worker: false,
    environment: { TRUSTED_PROXIES: '127.0.0.0/8, ::1/128', SIGN_INS_PER_MINUTE: '3' },
  }));

  const signIn = (address: string, password: string) =>
    world.send('POST', '/api/v1/session', {
      key: null,
      headers: { 'X-Forwarded-For': address },
      body: { email: world.installation.admin_email, password },
    });

  it('limits sign-ins by the IP address of the client', async () => {
    for (let n = 0; n < 3; n += 1) assert.equal((await signIn('198.51.100.1', 'wrong')).status, 401);
    assert.equal((await signIn('198.51.100.1', 'wrong')).status, 429);
    assert.equal((await signIn('198.51.100.2', 'wrong')).status, 401);
  });

  it('limits returns from the OpenID provider by the IPv6 network of the client', async () => {
    const problemAt = async (address: string) => {
      const headers = { 'X-Forwarded-For': address };
      const url = `${world.api.url}/api/v1/openid/callback`;
      const { headers: received } = await fetch(url, { headers, redirect: 'manual' });
      return new URL(received.get('location') ?? '').searchParams.get('problem');
    };
    for (let n = 1; n <= 3; n += 1) assert.equal(await problemAt(`2001:db8::${n}`), 'openid_off');
    assert.equal(await problemAt('2001:db8::4'), 'rate_limited');
    assert.equal(await problemAt('2001:db8:0:1::1'), 'openid_off');
  });
});

describe('wrong passwords from the addresses of an IPv6 network', () => {
  const world = useOwnWorld(async () => ({
    worker: false,
    environment: { TRUSTED_PROXIES: '127.0.0.0/8, ::1/128', SIGN_INS_PER_MINUTE: '1000' },
  }));
  let cookie: string;
  before(async () => {
    cookie = await world.signIn();
  });

  it('are limited together, when a person signs in or changes the password', async () => {
    const address = (network: number, n: number) => ({ 'X-Forwarded-For': `2001:db8:0:${network}::${n}` });
    const signIn = (network: number, n: number) =>
      world.send('POST', '/api/v1/session', {
        key: null,
        headers: address(network, n),
        body: { email: world.installation.admin_email, password: 'wrong' },
      });
    const change = (network: number, n: number) => {
      const { headers, ...as } = world.as(cookie);
      return world.send('PUT', '/api/v1/me/password', {
        ...as,
        headers: { ...headers, ...address(network, n) },
        body: { current_password: 'wrong', new_password: 'another good long password' },
      });
    };
    for (const [network, attempt, status] of [
      [1, signIn, 401],
      [2, change, 422],
    ] as const) {
      for (let n = 1; n <= WRONG_PASSWORDS; n += 1) assert.equal((await attempt(network, n)).status, status);
      assert.equal((await attempt(network, 99)).status, 429);
    }
    assert.equal((await signIn(2, 98)).status, 429, 'both count together');
    assert.equal((await signIn(3, 1)).status, 401, 'another network is not limited');
  });
});
