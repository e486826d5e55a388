import assert from 'node:assert/strict';
import { createAddressGuard, judgeUrlHost } from '../../src/outbound/address-guard.ts';

const REFUSED: ReadonlyArray<readonly [address: string, reason: string]> = [
  ['0.0.0.0', 'this host'],
  ['0.1.2.3', 'this host'],
  ['10.0.0.1', 'private'],
  ['10.255.255.255', 'private'],
  ['100.64.0.1', 'carrier-grade'],
  ['100.127.255.255', 'carrier-grade'],
  ['100.100.100.200', 'metadata'],
  ['127.0.0.1', 'loopback'],
  ['127.255.0.9', 'loopback'],
  ['168.63.129.16', 'metadata'],
  ['169.254.0.1', 'link-local'],
  ['169.254.169.254', 'metadata'],
  ['172.16.0.1', 'private'],
  ['172.31.255.255', 'private'],
  ['192.0.0.1', 'reserved for protocols'],
  ['192.0.0.192', 'metadata'],
  ['192.0.2.1', 'documentation'],
  ['192.31.196.1', 'AS112'],
  ['192.52.193.1', 'multicast tunnelling'],
  ['192.88.99.1', '6to4 relay'],
  ['192.168.1.1', 'private'],
  ['192.175.48.1', 'AS112'],
  ['198.18.0.1', 'benchmarking'],
  ['198.19.255.255', 'benchmarking'],
  ['198.51.100.1', 'documentation'],
  ['203.0.113.7', 'documentation'],
  ['224.0.0.1', 'multicast'],
  ['239.255.255.255', 'multicast'],
  ['240.0.0.1', 'reserved'],
  ['255.255.255.255', 'broadcast'],
  ['::', 'unspecified'],
  ['::1', 'loopback'],
  ['[::1]', 'loopback'],
  ['::2', 'reserved'],
  ['::127.0.0.1', 'reserved'],
  ['::ffff:127.0.0.1', 'loopback'],
  ['::ffff:a9fe:a9fe', 'metadata'],
  ['0:0:0:0:0:ffff:c0a8:0101', 'private'],
  ['64:ff9b::10.0.0.1', 'private'],
  ['64:ff9b::7f00:1', 'loopback'],
  ['64:ff9b:1::1', 'local NAT64'],
  ['100::1', 'discard'],
  ['100:0:0:1::1', 'dummy'],
  ['2001::1', 'Teredo'],
  ['2001:2::1', 'benchmarking'],
  ['2001:10::1', 'reserved for protocols'],
  ['2001:db8::1', 'documentation'],
  ['2002:7f00:1::', 'loopback'],
  ['2002:a9fe:a9fe::1', 'metadata'],
  ['2620:4f:8000::1', 'AS112'],
  ['3fff::1', 'documentation'],
  ['4000::1', 'reserved'],
  ['5f00::1', 'segment routing'],
  ['8000::1', 'reserved'],
  ['fc00::1', 'private'],
  ['fd00:ec2::254', 'metadata'],
  ['fd20:ce::254', 'metadata'],
  ['fdff::1', 'private'],
  ['fe80::1', 'link-local'],
  ['fe80::1%eth0', 'link-local'],
  ['fec0::1', 'site-local'],
  ['ff02::1', 'multicast'],
  ['example.com', 'not an IP address'],
  ['', 'not an IP address'],
  ['1.2.3', 'not an IP address'],
  ['127.1', 'not an IP address'],
];

const ORDINARY = [
  '1.1.1.1',
  '8.8.8.8',
  '9.255.255.255',
  '11.0.0.0',
  '100.63.255.255',
  '100.128.0.0',
  '126.255.255.255',
  '128.0.0.1',
  '169.253.255.255',
  '172.15.255.255',
  '172.32.0.0',
  '192.167.255.255',
  '192.169.0.0',
  '198.17.255.255',
  '198.20.0.0',
  '223.255.255.255',
  '2606:4700:4700::1111',
  '2a00:1450:4001:831::200e',
  '2001:500::1',
  '::ffff:8.8.8.8',
  '64:ff9b::8.8.8.8',
  '2002:808:808::1',
];

describe('the address guard', () => {
  const strict = createAddressGuard([]);

  for (const [address, reason] of REFUSED) {
    it(`refuses ${address || 'an empty text'} (${reason})`, () => {
      const judgement = strict.judge(address);
      assert.equal(judgement.allowed, false);
      assert.match(judgement.reason, new RegExp(reason));
    });
  }

  for (const address of ORDINARY) {
    it(`allows ${address}`, () => assert.deepEqual(strict.judge(address), { allowed: true }));
  }

  describe('with allowed ranges', () => {
    const guard = createAddressGuard(['127.0.0.0/8', ' ::1/128', '10.1.2.3', 'fd12::/16']);
    const verdicts = [
      ['127.0.0.1', true],
      ['127.9.9.9', true],
      ['::ffff:127.0.0.1', true],
      ['::1', true],
      ['10.1.2.3', true],
      ['10.1.2.4', false],
      ['fd12:3456::1', true],
      ['fd13::1', false],
      ['169.254.169.254', false],
    ] as const;
    for (const [address, allowed] of verdicts) {
      it(`${allowed ? 'allows' : 'refuses'} ${address}`, () => {
        assert.equal(guard.judge(address).allowed, allowed);
      });
    }
  });

  for (const range of [
    '10.0.0.0/33',
    '10.0.0/8',
    'localhost',
    '10.0.0.0/',
    '::1/129',
    '10.0.0.0/8/8x',
    '10.0.0.0/+8',
    '10.0.0.0/0x8',
    '',
  ]) {
    it(`rejects "${range}" as an invalid range`, () => {
      assert.throws(() => createAddressGuard([range]), {
        name: 'RangeError',
        message: `"${range}" is not a CIDR range`,
      });
    });
  }
});

/** The first and the last address of each range, with its reason, and the addresses before and after it with theirs. */
const EDGES: ReadonlyArray<
  readonly [first: string, last: string, reason: string, before: string | null, after: string | null]
> = [
  ['0.0.0.0', '0.255.255.255', 'this host', '255.255.255.255 broadcast', '1.0.0.0'],
  ['10.0.0.0', '10.255.255.255', 'private', '9.255.255.255', '11.0.0.0'],
  ['100.64.0.0', '100.127.255.255', 'carrier-grade', '100.63.255.255', '100.128.0.0'],
  ['127.0.0.0', '127.255.255.255', 'loopback', '126.255.255.255', '128.0.0.0'],
  ['168.63.129.16', '168.63.129.16', 'metadata', '168.63.129.15', '168.63.129.17'],
  ['169.254.0.0', '169.254.255.255', 'link-local', '169.253.255.255', '169.255.0.0'],
  ['172.16.0.0', '172.31.255.255', 'private', '172.15.255.255', '172.32.0.0'],
  ['192.0.0.0', '192.0.0.255', 'reserved for protocols', '191.255.255.255', '192.0.1.0'],
  ['192.0.2.0', '192.0.2.255', 'documentation', '192.0.1.255', '192.0.3.0'],
  ['192.31.196.0', '192.31.196.255', 'AS112', '192.31.195.255', '192.31.197.0'],
  ['192.52.193.0', '192.52.193.255', 'multicast tunnelling', '192.52.192.255', '192.52.194.0'],
  ['192.88.99.0', '192.88.99.255', '6to4 relay', '192.88.98.255', '192.88.100.0'],
  ['192.168.0.0', '192.168.255.255', 'private', '192.167.255.255', '192.169.0.0'],
  ['192.175.48.0', '192.175.48.255', 'AS112', '192.175.47.255', '192.175.49.0'],
  ['198.18.0.0', '198.19.255.255', 'benchmarking', '198.17.255.255', '198.20.0.0'],
  ['198.51.100.0', '198.51.100.255', 'documentation', '198.51.99.255', '198.51.101.0'],
  ['203.0.113.0', '203.0.113.255', 'documentation', '203.0.112.255', '203.0.114.0'],
  ['224.0.0.0', '239.255.255.255', 'multicast', '223.255.255.255', '240.0.0.0 reserved'],
  ['240.0.0.0', '255.255.255.254', 'reserved', '239.255.255.255 multicast', '255.255.255.255 broadcast'],
  [
    '64:ff9b:1::',
    '64:ff9b:1:ffff:ffff:ffff:ffff:ffff',
    'local NAT64',
    '64:ff9b:0:1:: reserved',
    '64:ff9b:2:: reserved',
  ],
  ['100::', '100::ffff:ffff:ffff:ffff', 'discard', 'ff::1 reserved', '100:0:0:1:: dummy'],
  ['100:0:0:1::', '100:0:0:1:ffff:ffff:ffff:ffff', 'dummy', '100:: discard', '100:0:0:2:: reserved'],
  ['2001::', '2001:0:ffff:ffff:ffff:ffff:ffff:ffff', 'Teredo', '2000::', '2001:1:: reserved for protocols'],
  [
    '2001:2::',
    '2001:2:0:ffff:ffff:ffff:ffff:ffff',
    'benchmarking',
    '2001:1:: reserved for protocols',
    '2001:2:1:: reserved for protocols',
  ],
  [
    '2001:3::',
    '2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff',
    'reserved for protocols',
    '2001:2:: benchmarking',
    '2001:200::',
  ],
  ['2001:db8::', '2001:db8:ffff:ffff:ffff:ffff:ffff:ffff', 'documentation', '2001:db7:ffff::', '2001:db9::'],
  ['2620:4f:8000::', '2620:4f:8000:ffff:ffff:ffff:ffff:ffff', 'AS112', '2620:4f:7fff::', '2620:4f:8001::'],
  ['3fff::', '3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff', 'documentation', '3ffe:ffff::', '3fff:1000::'],
  [
    '5f00::',
    '5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff',
    'segment routing',
    '5eff:: reserved',
    '5f01:: reserved',
  ],
  ['fc00::', 'fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', 'private', 'fbff:: reserved', 'fe00:: reserved'],
  ['fe80::', 'febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff', 'link-local', 'fe7f:: reserved', 'fec0:: site-local'],
  [
    'fec0::',
    'feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff',
    'site-local',
    'febf:: link-local',
    'ff00:: multicast',
  ],
  ['ff00::', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', 'multicast', 'feff:: site-local', null],
];

describe('the ranges of the address guard', () => {
  const strict = createAddressGuard([]);

  /** Checks an address, followed by the reason of its refusal unless it is allowed. */
  function check(expected: string): void {
    const [address = '', ...reason] = expected.split(' ');
    const judgement = strict.judge(address);
    if (reason.length === 0) return assert.deepEqual(judgement, { allowed: true }, address);
    assert.ok(!judgement.allowed, address);
    assert.match(judgement.kind, new RegExp(reason.join(' ')), address);
  }

  for (const [first, last, reason, before, after] of EDGES) {
    it(`include ${first} to ${last} as ${reason}, and not what is around it`, () => {
      for (const address of [first, last]) check(`${address} ${reason}`);
      for (const expected of [before, after]) if (expected !== null) check(expected);
    });
  }
});

/** test/outbound/hidden-addresses.test.ts has the other notations of addresses. */
describe('the check of a configured URL', () => {
  const strict = createAddressGuard([]);
  const local = createAddressGuard(['127.0.0.0/8']);
  const verdicts = [
    ['https://example.com/hook', strict, true],
    ['https://localhost/hook', strict, false],
    ['https://localhost./hook', strict, false],
    ['https://api.localhost/hook', strict, false],
    ['https://localhost/hook', local, true],
    ['https://127.0.0.1/hook', strict, false],
    ['https://127.0.0.1/hook', local, true],
    ['https://localhost.example.com/hook', strict, true],
    ['https://intranet/hook', strict, true],
    ['https://[::1]/hook', strict, false],
    ['https://[::ffff:10.0.0.1]/hook', strict, false],
    ['https://[2606:4700::1111]/hook', strict, true],
    ['https://8.8.8.8/hook', strict, true],
  ] as const;
  for (const [url, guard, allowed] of verdicts) {
    const condition = guard === local ? ' if loopback is allowed' : '';
    it(`${allowed ? 'allows' : 'refuses'} ${url}${condition}`, () => {
      assert.equal(judgeUrlHost(new URL(url), guard).allowed, allowed);
    });
  }
});
