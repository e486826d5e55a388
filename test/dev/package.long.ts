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
import { parse } from 'yaml';
import type { StarterFile } from '../../cli/init.ts';
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
  const read = (file: string) => readFileSync(join(project, file), 'utf8');
  /** Runs a command in a second terminal, without the settings of this process. */
  async function baton(words: string[]): Promise<{ stdout: string; stderr: string }> {
    const given = Object.entries(process.env).filter(([name]) => !name.startsWith('BATON_'));
    return await run('npx', ['baton', ...words], { cwd: project, env: Object.fromEntries(given) });
  }

  it('names its version, and what it needs, without a service', async () => {
    const { version } = JSON.parse(read('node_modules/baton/package.json'));
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

  it('writes starter files, and keeps those that exist', async () => {
    const files = ['agents.yml', 'receiver.ts', 'compose.yaml', 'compose.agents.yaml'];
    const init = async () =>
      (JSON.parse((await baton(['--json', 'init'])).stdout) as { data: StarterFile[] }).data;
    const written = (found: StarterFile[]) => found.map((file) => [file.path, file.written]);
    assert.deepEqual(
      written(await init()),
      files.map((path) => [path, true]),
    );
    writeFileSync(join(project, 'agents.yml'), read('agents.yml').replaceAll('architect', 'our-architect'));
    assert.deepEqual(
      written(await init()),
      files.map((path) => [path, false]),
    );
    assert.match(read('agents.yml'), /agent: our-architect/);
    // Every path in the compose files exists.
    const compose = parse(read('compose.yaml')) as { include: [{ path: string[] }] };
    for (const path of compose.include[0].path) assert.ok(existsSync(join(project, path)), path);
    const { services } = parse(read('compose.agents.yaml')) as { services: { api: { volumes: [string] } } };
    const [source = ''] = services.api.volumes[0].split(':');
    assert.equal(join(project, '.baton/service/deploy', source), join(project, 'agents.yml'));
    for (const [, file = ''] of read('.baton/service/deploy/Containerfile').matchAll(/^COPY (?!--)(\S+)/gm))
      assert.ok(existsSync(join(project, '.baton/service', file)), `the image needs ${file}`);
  });

  it('runs the service in an empty folder, and continues with the same data', async () => {
    const first = start();
    const { admin_email: email } = await first.credentials();
    await first.says('signature verified');
    await first.says('npx baton start continues with the same data');
    assert.match(first.output(), /credentials are in \.baton\/credentials\.json, logs in \.baton\/logs\//);
    assert.equal(read('.baton/.gitignore'), '*\n');

    const submitted = await baton(['--json', 'task', 'submit', '--title', 'Hello', '--wait']);
    assert.equal(JSON.parse(submitted.stdout).state, 'completed');
    for (const _ of ['with agents.yml', 'without']) {
      assert.match((await baton(['agents', 'check'])).stdout, /our-architect .*rehearsal/);
      rmSync(join(project, 'agents.yml'), { force: true });
    }
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
