import assert from 'node:assert/strict';
import { existsSync, mkdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { npmStart, pressCtrlC, processesOf, useCheckout } from './launched.ts';

describe('npm start in a fresh checkout', function () {
  this.timeout(180_000);
  const checkout = useCheckout();

  it('starts all processes, writes credentials that only their owner can read, and stops everything on Ctrl-C', async () => {
    const launched = npmStart(checkout.folder, { PORT: '0' }, ['--no-tour']);
    const credentials = await launched.credentials();
    assert.equal((await fetch(`${credentials.base_url}/health/ready`)).status, 200);
    assert.equal(statSync(join(checkout.folder, '.local', 'credentials.json')).mode & 0o777, 0o600);
    const headers = { 'x-api-key': String(credentials.api_key) };
    assert.equal((await fetch(`${credentials.base_url}/api/v1/tasks`, { headers })).status, 200);
    await pressCtrlC(launched);
    assert.deepEqual(processesOf(checkout.folder), []);
  });

  it('stops everything and exits with 1 if part of the shutdown fails', async () => {
    const launched = npmStart(checkout.folder, { PORT: '0' }, ['--no-tour']);
    await launched.credentials();
    const file = join(checkout.folder, '.local', 'credentials.json');
    rmSync(file);
    mkdirSync(file); // a folder in its place cannot be removed like a file
    await pressCtrlC(launched);
    rmSync(file, { recursive: true });
    assert.equal(await launched.ended, 1);
    assert.match(launched.output(), /Part of the shutdown failed: .*credentials\.json/);
    assert.equal(existsSync(join(checkout.folder, '.local', 'launcher.pid')), false);
    assert.deepEqual(processesOf(checkout.folder), []);
  });
});
