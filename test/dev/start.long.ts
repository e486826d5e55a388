import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { eventually } from '../support/eventually.ts';
import { npmStart, pressCtrlC, processesOf, useCheckout } from './launched.ts';

describe('npm start', function () {
  this.timeout(300_000);
  const checkout = useCheckout();

  it('shows a tour after the first start, and reuses all data at the next one', async () => {
    const first = npmStart(checkout.folder, { PORT: '0' });
    const credentials = await first.credentials();
    await first.says('signature verified');
    await first.says('Ctrl-C stops everything. npm start continues');
    assert.match(first.output(), /first workspace .* created/);
    await pressCtrlC(first);

    const second = npmStart(checkout.folder, { PORT: new URL(credentials.base_url).port });
    const again = await second.credentials();
    assert.match(second.output(), /screens .* up to date/);
    assert.match(second.output(), /first workspace .* exists/);
    assert.deepEqual({ ...again, pids: null }, { ...credentials, pids: null });
    const { api_key: key } = again;
    const list = await fetch(`${again.base_url}/api/v1/tasks`, { headers: { 'x-api-key': String(key) } });
    const { data } = (await list.json()) as { data: { title: string }[] };
    assert.match(String(data[0]?.title), /^Tour/);
    await second.says('Baton is running');
    assert.doesNotMatch(second.output(), /A short tour/);

    const third = npmStart(checkout.folder, { PORT: '0' });
    assert.equal(await third.ended, 1);
    assert.match(third.output(), /already running from this checkout \(process \d+\)/);
    second.child.kill('SIGTERM'); // to npm alone
    await second.ended;
    assert.deepEqual(processesOf(checkout.folder), []);
  });

  it('restarts child processes that are killed', async () => {
    const launched = npmStart(checkout.folder, { PORT: '0' }, ['--no-tour']);
    const before = await launched.credentials();
    for (const name of ['task_worker', 'api', 'temporal', 'postgres']) {
      process.kill(Number(before.pids[name]), 'SIGKILL');
    }
    for (const name of ['The worker process', 'The API', 'Temporal', 'PostgreSQL']) {
      await launched.says(`${name} was restarted`);
    }
    const after = await launched.credentials();
    for (const name of ['task_worker', 'api', 'temporal', 'postgres']) {
      assert.notEqual(after.pids[name], before.pids[name], name);
    }
    const isReady = async () => (await fetch(`${after.base_url}/health/ready`)).status === 200;
    await eventually('the API is ready', isReady);
    process.kill(Number(after.pids['launcher']), 'SIGKILL');
    await launched.ended;
    const next = npmStart(checkout.folder, { PORT: '0' });
    await next.says('Baton is running');
    await pressCtrlC(next);
    assert.deepEqual(processesOf(checkout.folder), []);
  });

  it('names a port that is in use, and leaves no process running', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    try {
      await once(other, 'listening');
      const { port } = other.address() as AddressInfo;
      const launched = npmStart(checkout.folder, { PORT: String(port) });
      assert.equal(await launched.ended, 1);
      assert.match(
        launched.output(),
        new RegExp(`Port ${port} on .* is already in use\\..*PORT=3000 npm start`),
      );
      assert.deepEqual(processesOf(checkout.folder), []);
    } finally {
      other.close();
    }
  });
});
