import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAddressGuard } from '../../src/outbound/address-guard.ts';
import { createLookup } from '../../src/outbound/names.ts';
import type { Lookup } from '../../src/outbound/resolve.ts';
import { startReceiver } from '../support/receiver.ts';
import { startNameServer, type NameServer } from './name-server.ts';
import { post, senders } from './sending.ts';

describe('the DNS lookup', function () {
  if (process.platform !== 'linux') return;
  let server: NameServer;
  let folder: string;
  let hostsFile: string;
  let asked: string[];
  let lookUp: Lookup;

  beforeEach(async () => {
    server = await startNameServer();
    folder = mkdtempSync(join(tmpdir(), 'baton-names-'));
    hostsFile = join(folder, 'hosts');
    asked = [];
    const system: Lookup = async (hostname) => {
      asked.push(hostname);
      if (hostname === 'printer') return ['192.168.1.9'];
      throw Object.assign(new Error('not there'), { code: 'ENOTFOUND' });
    };
    lookUp = createLookup({ servers: [server.address], hostsFile, system });
  });
  afterEach(async () => {
    await server.close();
    rmSync(folder, { recursive: true });
  });

  it('returns all addresses of a name, IPv4 first, without caching them', async () => {
    server.setAddresses('a.test', ['192.0.2.1', '192.0.2.2'], ['2001:db8::1']);
    assert.deepEqual(await lookUp('a.test'), ['192.0.2.1', '192.0.2.2', '2001:db8::1']);
    server.setAddresses('a.test', ['192.0.2.3'], []);
    assert.deepEqual(await lookUp('a.test'), ['192.0.2.3']);
    assert.deepEqual(asked, []);
  });

  it('returns the addresses of one family if the other has none', async () => {
    server.setAddresses('four.test', ['192.0.2.1'], 'failing');
    server.setAddresses('six.test', [], ['2001:db8::6']);
    assert.deepEqual(await lookUp('four.test'), ['192.0.2.1']);
    assert.deepEqual(await lookUp('six.test'), ['2001:db8::6']);
  });

  it('does not wait for a missing IPv6 response', async () => {
    server.setAddresses('a.test', ['192.0.2.1'], 'silent');
    assert.deepEqual(await lookUp('a.test'), ['192.0.2.1']);
    assert.deepEqual(server.questions.toSorted(), ['A a.test', 'AAAA a.test'], 'the lookup is not repeated');
  });

  it('reads the hosts file first, regardless of case and a trailing dot', async () => {
    writeFileSync(hostsFile, '# local\n::1 Receiver.local # six\n127.0.0.1\treceiver.local  other.local\n');
    for (const name of ['receiver.local', 'RECEIVER.local', 'receiver.local.']) {
      assert.deepEqual(await lookUp(name), ['127.0.0.1', '::1']);
    }
    assert.deepEqual(await lookUp('other.local'), ['127.0.0.1']);
    writeFileSync(hostsFile, '10.0.0.77 receiver.local\n');
    assert.deepEqual(await lookUp('receiver.local'), ['10.0.0.77']);
    assert.deepEqual([server.questions, asked], [[], []]);
  });

  it('asks the system for a name that the name servers do not know', async () => {
    assert.deepEqual(await lookUp('printer'), ['192.168.1.9']);
    await assert.rejects(lookUp('nobody.test'), { code: 'ENOTFOUND' });
    assert.deepEqual(asked, ['printer', 'nobody.test']);
  });

  it('does not ask the system if the name servers fail', async () => {
    server.setAddresses('failing.test', 'failing', 'failing');
    server.setAddresses('half.test', [], 'failing');
    await assert.rejects(lookUp('failing.test'), { code: 'ESERVFAIL' });
    await assert.rejects(lookUp('half.test'), { code: 'ESERVFAIL' });
    assert.deepEqual(asked, []);
  });

  it('is not delayed by lookups that get no response', async () => {
    const { sender, cleanUp } = senders();
    const receiver = await startReceiver({ name: 'alive.test' });
    server.setAddresses('alive.test', ['127.0.0.1']);
    const dead = Array.from({ length: 50 }, (_, number) => `dead-${number}.test`);
    for (const name of dead) server.setAddresses(name, 'silent', 'silent');
    const client = sender({ lookup: lookUp });
    const givingUp = new AbortController();
    let ended = 0;
    const late = dead.map(async (name) => {
      const record = await post(client, `http://${name}/`, { signal: givingUp.signal });
      ended += 1;
      return record.failure;
    });
    for (let count = 0; count < 20; count += 1) {
      assert.equal((await post(client, receiver.url)).outcome, 'succeeded');
    }
    assert.equal(ended, 0, 'the lookups without a response are still pending');
    givingUp.abort();
    assert.deepEqual(new Set(await Promise.all(late)), new Set(['aborted']));
    await cleanUp();
    await receiver.close();
  });

  it('is repeated for each attempt, regardless of the time to live', async () => {
    const { sender, cleanUp } = senders();
    const receiver = await startReceiver({ name: 'changing.test' });
    const client = sender({ lookup: lookUp, guard: createAddressGuard(['127.0.0.1']) });
    server.setAddresses('changing.test', ['127.0.0.1']);
    assert.equal((await post(client, receiver.url)).outcome, 'succeeded');
    server.setAddresses('changing.test', ['169.254.169.254'], ['fd00::1']);
    const refused = await post(client, receiver.url);
    assert.equal(refused.failure, 'address_refused');
    assert.match(refused.message ?? '', /metadata/);
    server.setAddresses('changing.test', ['10.0.0.1', '127.0.0.1'], ['::1']);
    const mixed = await post(client, receiver.url);
    assert.deepEqual([mixed.outcome, mixed.address], ['succeeded', '127.0.0.1']);
    await cleanUp();
    await receiver.close();
  });
});
