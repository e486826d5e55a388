import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { createAddressGuard, judgeUrlHost } from '../../src/outbound/address-guard.ts';
import { useReceiver } from '../support/callback-receiver.ts';
import { createTestAuthority } from '../support/certificates.ts';
import { startReceiver } from '../support/receiver.ts';
import { post, senders } from './sending.ts';

/** Notations of hosts that lead to this machine or to internal addresses. */
const SPELLINGS: ReadonlyArray<readonly [what: string, host: string]> = [
  ['dotted', '127.0.0.1'],
  ['with a trailing dot', '127.0.0.1.'],
  ['short', '127.1'],
  ['shorter', '127.0.1'],
  ['as one number', '2130706433'],
  ['as one hexadecimal number', '0x7f000001'],
  ['as one octal number', '017700000001'],
  ['in hexadecimal parts', '0x7f.0x0.0x0.0x1'],
  ['in octal parts', '0177.0.0.01'],
  ['in mixed parts', '0x7f.0.1'],
  ['with zeros before it', '0x0000007f.0000.0000.0001'],
  ['percent-encoded', '%31%32%37.0.0.1'],
  ['in full-width digits', '１２７.0.0.1'],
  ['in circled digits', '①②⑦.⓪.⓪.①'],
  ['with ideographic dots', '127。0。0。1'],
  ['as this network', '0.0.0.0'],
  ['as zero', '0'],
  ['in brackets', '[::1]'],
  ['in full', '[0:0:0:0:0:0:0:1]'],
  ['unspecified', '[::]'],
  ['IPv4-mapped', '[::ffff:127.0.0.1]'],
  ['IPv4-mapped in hexadecimal', '[::ffff:7f00:1]'],
  ['IPv4-compatible', '[::127.0.0.1]'],
  ['IPv4-translated', '[::ffff:0:127.0.0.1]'],
  ['behind NAT64', '[64:ff9b::7f00:1]'],
  ['behind a local NAT64', '[64:ff9b:1::7f00:1]'],
  ['behind 6to4', '[2002:7f00:1::1]'],
  ['behind Teredo', '[2001:0:4136:e378:8000:63bf:80ff:fffe]'],
  ['metadata', '169.254.169.254'],
  ['metadata as a number', '2852039166'],
  ['metadata, mapped', '[::ffff:a9fe:a9fe]'],
  ['metadata by IPv6', '[fd00:ec2::254]'],
  ['unique local', '[fd12:3456::1]'],
  ['link-local', '[fe80::1]'],
  ['a name for this machine', 'localhost'],
  ['in capitals', 'LOCALHOST'],
  ['with a dot', 'localhost.'],
  ['percent-encoded in part', 'loc%61lhost'],
];

/** Hosts that are invalid in a URL. */
const UNREADABLE = ['127.0.0.1.1', '256.0.0.1', '[::1', '[fe80::1%25eth0]', '0x7g.1', '[::ffff:127.0.0.256]'];

describe('an obfuscated address', () => {
  const { sender, cleanUp } = senders();
  const strict = createAddressGuard([]);
  const receiver = useReceiver();
  afterEach(cleanUp);

  for (const [what, host] of SPELLINGS) {
    it(`is refused in attempts and in the configuration: ${host} (${what})`, async () => {
      const url = `http://${host}:${receiver.port}/`;
      const record = await post(sender({ guard: strict }), url);
      assert.deepEqual([record.failure, record.address], ['address_refused', null], record.message ?? '');
      assert.equal(judgeUrlHost(new URL(url), strict).allowed, false);
      assert.equal(receiver.connections(), 0);
    });
  }

  for (const host of UNREADABLE) {
    it(`is an invalid request if it cannot be parsed: ${host}`, async () => {
      const record = await post(sender({ guard: strict }), `http://${host}:${receiver.port}/`);
      assert.equal(record.failure, 'invalid_request');
      assert.equal(receiver.connections(), 0);
    });
  }

  it('is refused as the result of a lookup, in every notation', async () => {
    const forms = ['::ffff:127.0.0.1', '64:ff9b::7f00:1', '2002:7f00:1::1', '::1', 'fe80::1%lo', '127.1', ''];
    for (const form of forms) {
      const record = await post(
        sender({ guard: strict, lookup: async () => [form] }),
        receiver.url.replace('127.0.0.1', 'hook.test'),
      );
      assert.equal(record.failure, 'address_refused', form);
    }
    assert.equal(receiver.connections(), 0);
  });

  it('is skipped among allowed addresses, which are tried in their order', async () => {
    const guard = createAddressGuard(['127.0.0.1', '127.0.0.9']);
    const addresses = [
      '10.0.0.1',
      '::ffff:10.0.0.1',
      '127.0.0.9',
      '169.254.169.254',
      '127.0.0.1',
      '127.0.0.1',
    ];
    const record = await post(
      sender({ guard, lookup: async () => addresses }),
      receiver.url.replace('127.0.0.1', 'hook.test'),
    );
    // Nothing listens on the first allowed address.
    assert.deepEqual([record.outcome, record.address], ['succeeded', '127.0.0.1'], record.message ?? '');
  });

  it('is not reached by a redirect', async () => {
    const inner = await startReceiver();
    const outer = await startReceiver({ host: '127.0.0.2' });
    outer.redirecting(inner.url);
    const record = await post(sender({ guard: createAddressGuard(['127.0.0.2']) }), outer.url);
    assert.equal(record.failure, 'redirect');
    assert.equal(inner.connections(), 0);
    await Promise.all([inner.close(), outer.close()]);
  });
});

describe('a host name with a trailing dot', () => {
  const { sender, cleanUp } = senders();
  afterEach(cleanUp);

  it('is looked up unchanged, and matches a certificate without the dot', async () => {
    const { ca, issue } = await createTestAuthority();
    const receiver = await startReceiver({ tls: await issue({ names: ['hook.test'] }), name: 'hook.test.' });
    const asked: string[] = [];
    const lookup = async (name: string) => {
      asked.push(name);
      return ['127.0.0.1'];
    };
    const record = await post(sender({ ca, lookup }), receiver.url);
    assert.equal(record.outcome, 'succeeded', record.message ?? '');
    assert.deepEqual(asked, ['hook.test.']);
    await receiver.close();
  });

  it('is sent in TLS without the dot (RFC 6066)', async () => {
    const { ca, issue } = await createTestAuthority();
    const names: unknown[] = [];
    const server = createSecureServer(await issue({ names: ['hook.test'] }), (_request, response) => {
      names.push((response.socket as TLSSocket).servername);
      response.writeHead(204).end();
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const record = await post(
      sender({ ca, lookup: async () => ['127.0.0.1'] }),
      `https://hook.test.:${port}`,
    );
    assert.deepEqual([record.outcome, names], ['succeeded', ['hook.test']]);
    server.closeAllConnections();
    server.close();
  });
});
