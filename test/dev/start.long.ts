import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { freshCheckout, npmStart, processesOf } from './launched.ts';

describe('npm start', function () {
  this.timeout(240_000);
  let checkout: ReturnType<typeof freshCheckout>;

  before(() => {
    checkout = freshCheckout();
  });

  after(() => checkout.remove());

  it('brings up everything in a fresh checkout, ends with a tour, and keeps all for the next start', async () => {
    const first = npmStart(checkout.folder, { PORT: '0' });
    const credentials = await first.credentials();
    assert.equal((await fetch(`${credentials.base_url}/health/ready`)).status, 200);
    assert.equal(statSync(join(checkout.folder, '.local', 'credentials.json')).mode & 0o777, 0o600);
    await first.says('signature verified');
    await first.says('Ctrl-C stops everything; npm start goes on');
    process.kill(-Number(first.npm.pid), 'SIGINT'); // as Ctrl-C does: to the whole group
    await first.ended;
    assert.deepEqual(processesOf(checkout.folder), []);

    const port = new URL(credentials.base_url).port;
    const began = Date.now();
    const second = npmStart(checkout.folder, { PORT: port });
    const again = await second.credentials();
    assert.ok(Date.now() - began < 10_000, 'the second start takes less than ten seconds');
    assert.deepEqual({ ...again, pids: null }, { ...credentials, pids: null });
    const { api_key: key } = again;
    const list = await fetch(`${again.base_url}/api/v1/tasks`, { headers: { 'x-api-key': String(key) } });
    const { data } = (await list.json()) as { data: { title: string }[] };
    assert.match(String(data[0]?.title), /^Tour/);
    assert.doesNotMatch(second.output(), /A short tour/);

    const third = npmStart(checkout.folder, { PORT: '0' });
    assert.equal(await third.ended, 1);
    assert.match(third.output(), /already running from this checkout \(process \d+\)/);
    second.npm.kill('SIGTERM'); // to npm alone
    await second.ended;
    assert.deepEqual(processesOf(checkout.folder), []);
  });

  it('survives the sudden end of each of its children', async () => {
    const launched = npmStart(checkout.folder, { PORT: '0' }, ['--no-tour']);
    const before = await launched.credentials();
    for (const name of ['task_worker', 'api', 'temporal', 'postgres']) {
      process.kill(Number(before.pids[name]), 'SIGKILL');
    }
    for (const name of ['The task worker', 'The API', 'Temporal', 'PostgreSQL']) {
      await launched.says(`${name} is up again`);
    }
    const after = await launched.credentials();
    for (const name of ['task_worker', 'api', 'temporal', 'postgres']) {
      assert.notEqual(after.pids[name], before.pids[name], name);
    }
    assert.equal((await fetch(`${after.base_url}/health/ready`)).status, 200);
    process.kill(Number(after.pids['launcher']), 'SIGKILL');
    await launched.ended;
    const next = npmStart(checkout.folder, { PORT: '0' });
    await next.says('Baton is running');
    process.kill(-Number(next.npm.pid), 'SIGINT');
    await next.ended;
    assert.deepEqual(processesOf(checkout.folder), []);
  });

  it('names the port that is taken, and leaves nothing running', async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const { port } = other.address() as AddressInfo;
    const launched = npmStart(checkout.folder, { PORT: String(port) });
    assert.equal(await launched.ended, 1);
    assert.match(launched.output(), new RegExp(`Port ${port} is taken .*PORT=3000 npm start`));
    assert.deepEqual(processesOf(checkout.folder), []);
    await new Promise((resolve) => other.close(resolve));
  });
});
