import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { packBaton } from '../../dev/package/main.ts';
import { endLaunched, launch, pressCtrlC, processesOf } from './launched.ts';

const run = promisify(execFile);

describe('the package', function () {
  this.timeout(600_000);
  let project: string;

  before(async () => {
    project = mkdtempSync(join(tmpdir(), 'baton-project-'));
    chmodSync(project, 0o755); // accessible to the user that PostgreSQL runs as
    const tarball = await packBaton(project);
    writeFileSync(join(project, 'package.json'), '{ "name": "user", "private": true, "type": "module" }\n');
    // It needs no other packages, so it can be installed without a registry.
    await run('npm', ['install', '--offline', '--no-audit', '--no-fund', tarball], { cwd: project });
  });
  afterEach(endLaunched);
  after(() => rmSync(project, { recursive: true, force: true }));

  const start = (words: string[] = []) =>
    launch(['npx', 'baton', 'start', ...words], { folder: project, data: '.baton' }, { PORT: '0' });
  /** Runs a command in a second terminal, without the settings of this process. */
  async function baton(words: string[]): Promise<{ stdout: string; stderr: string }> {
    const given = Object.entries(process.env).filter(([name]) => !name.startsWith('BATON_'));
    return await run('npx', ['baton', ...words], { cwd: project, env: Object.fromEntries(given) });
  }

  it('names its version, and what it needs, without a service', async () => {
    const { version } = JSON.parse(readFileSync(join(project, 'node_modules/baton/package.json'), 'utf8'));
    assert.equal((await baton(['--version'])).stdout.trim(), version);
    await assert.rejects(baton(['task', 'list']), /Not signed in/);
    await assert.rejects(baton(['admin', 'migrate']), /Run `baton start` in this folder first/);
  });

  it('contains the client', async () => {
    const program = `
      import { createBaton } from 'baton/client';
      import { verifyCallback } from 'baton/client/verify';
      console.log(typeof createBaton, typeof verifyCallback);`;
    writeFileSync(join(project, 'client.js'), program);
    assert.equal((await run('node', ['client.js'], { cwd: project })).stdout, 'function function\n');
  });

  it('runs the service in an empty folder, and continues with the same data', async () => {
    const first = start();
    const { admin_email: email } = await first.credentials();
    await first.says('signature verified');
    await first.says('npx baton start continues with the same data');
    assert.match(first.output(), /credentials are in \.baton\/credentials\.json, logs in \.baton\/logs\//);
    assert.equal(readFileSync(join(project, '.baton/.gitignore'), 'utf8'), '*\n');

    const submitted = await baton(['--json', 'task', 'submit', '--title', 'Hello', '--wait']);
    assert.equal(JSON.parse(submitted.stdout).state, 'completed');
    const { stdout: checked } = await baton(['agents', 'check']);
    assert.match(checked, /rehearsal/);
    await pressCtrlC(first);
    assert.deepEqual(processesOf(project), []);

    // As if a newer version had been installed: other code, and other content.
    const unpacked = join(project, '.baton/service');
    const packaged = join(project, 'node_modules/baton/service');
    writeFileSync(join(unpacked, 'src/removed.ts'), '');
    writeFileSync(join(packaged, 'content'), 'newer\n');
    appendFileSync(join(packaged, 'llms.txt'), '- newer\n');
    const second = start(['--no-tour']);
    assert.equal((await second.credentials()).admin_email, email);
    assert.match(second.output(), /first workspace .* exists/);
    assert.ok(!existsSync(join(unpacked, 'src/removed.ts')));
    assert.match(readFileSync(join(unpacked, 'llms.txt'), 'utf8'), /- newer\n$/);
    assert.equal((await baton(['--json', 'task', 'list'])).stdout.includes('"Hello"'), true);

    writeFileSync(join(packaged, 'content'), 'newest\n');
    await assert.rejects(baton(['start']), /Another version of Baton is running in this folder/);
  });
});
