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

describe('a name', function () {
  if (process.platform !== 'linux') return;
  let server: NameServer;
  let folder: string;
  let hostsFile: string;
  let asked: string[];
  let look: Lookup;

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
    look = createLookup({ servers: [server.address], hostsFile, system });
  });
  afterEach(async () => {
    await server.close();
    rmSync(folder, { recursive: true });
  });

  it('has all its addresses of the name servers, IPv4 first, asked for anew each time', async () => {
    server.tell('a.test', ['192.0.2.1', '192.0.2.2'], ['2001:db8::1']);
    assert.deepEqual(await look('a.test'), ['192.0.2.1', '192.0.2.2', '2001:db8::1']);
    server.tell('a.test', ['192.0.2.3'], []);
    assert.deepEqual(await look('a.test'), ['192.0.2.3']);
    assert.deepEqual(asked, []);
  });

  it('may have addresses of one family only', async () => {
    server.tell('four.test', ['192.0.2.1'], 'failing');
    server.tell('six.test', [], ['2001:db8::6']);
    assert.deepEqual(await look('four.test'), ['192.0.2.1']);
    assert.deepEqual(await look('six.test'), ['2001:db8::6']);
  });

  it('is not kept waiting for an IPv6 answer that does not come', async () => {
    server.tell('a.test', ['192.0.2.1'], 'silent');
    assert.deepEqual(await look('a.test'), ['192.0.2.1']);
    assert.deepEqual(server.questions.toSorted(), ['A a.test', 'AAAA a.test'], 'not asked a second time');
  });

  it('is looked for in the hosts file first, whatever its case and with a dot at its end', async () => {
    writeFileSync(hostsFile, '# ours\n::1 Receiver.local # six\n127.0.0.1\treceiver.local  other.local\n');
    for (const name of ['receiver.local', 'RECEIVER.local', 'receiver.local.']) {
      assert.deepEqual(await look(name), ['127.0.0.1', '::1']);
    }
    assert.deepEqual(await look('other.local'), ['127.0.0.1']);
    writeFileSync(hostsFile, '10.0.0.77 receiver.local\n');
    assert.deepEqual(await look('receiver.local'), ['10.0.0.77']);
    assert.deepEqual([server.questions, asked], [[], []]);
  });

  it('that the name servers do not know is asked of the system', async () => {
    assert.deepEqual(await look('printer'), ['192.168.1.9']);
    await assert.rejects(look('nobody.test'), { code: 'ENOTFOUND' });
    assert.deepEqual(asked, ['printer', 'nobody.test']);
  });

  it('whose servers fail is not asked of the system, which would wait for the same servers', async () => {
    server.tell('failing.test', 'failing', 'failing');
    server.tell('half.test', [], 'failing');
    await assert.rejects(look('failing.test'), { code: 'ESERVFAIL' });
    await assert.rejects(look('half.test'), { code: 'ESERVFAIL' });
    assert.deepEqual(asked, []);
  });

  it('whose servers are dead holds up no other one', async () => {
    const { sender, cleanUp } = senders();
    const receiver = await startReceiver({ name: 'alive.test' });
    server.tell('alive.test', ['127.0.0.1']);
    const dead = Array.from({ length: 50 }, (_, number) => `dead-${number}.test`);
    for (const name of dead) server.tell(name, 'silent', 'silent');
    const ours = sender({ lookup: look });
    const givingUp = new AbortController();
    let ended = 0;
    const late = dead.map(async (name) => {
      const record = await post(ours, `http://${name}/`, { signal: givingUp.signal });
      ended += 1;
      return record.failure;
    });
    for (let count = 0; count < 20; count += 1) {
      assert.equal((await post(ours, receiver.url)).outcome, 'succeeded');
    }
    assert.equal(ended, 0, 'the dead ones are still looked up');
    givingUp.abort();
    assert.deepEqual(new Set(await Promise.all(late)), new Set(['aborted']));
    await cleanUp();
    await receiver.close();
  });

  it('is judged anew at each attempt, whatever its time to live says', async () => {
    const { sender, cleanUp } = senders();
    const receiver = await startReceiver({ name: 'changing.test' });
    const ours = sender({ lookup: look, guard: createAddressGuard(['127.0.0.1']) });
    server.tell('changing.test', ['127.0.0.1']);
    assert.equal((await post(ours, receiver.url)).outcome, 'succeeded');
    server.tell('changing.test', ['169.254.169.254'], ['fd00::1']);
    const refused = await post(ours, receiver.url);
    assert.equal(refused.failure, 'address_refused');
    assert.match(refused.message ?? '', /metadata/);
    server.tell('changing.test', ['10.0.0.1', '127.0.0.1'], ['::1']);
    const mixed = await post(ours, receiver.url);
    assert.deepEqual([mixed.outcome, mixed.address], ['succeeded', '127.0.0.1']);
    await cleanUp();
    await receiver.close();
  });
});
