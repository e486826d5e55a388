import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inCheckout } from '../../dev/common/paths.ts';
import { loadTemporalConfig } from '../../src/temporal/connection.ts';
import { environmentOf, readContainerfile } from '../deploy/containerfile.ts';
import { eventually } from '../support/eventually.ts';

const PATH = process.env['PATH'] ?? '';

describe('a process of the service, with a hostile program of the same user', () => {
  it('does not open a debugger on SIGUSR1', async () => {
    const source = `import { runProcess } from '${inCheckout('src', 'runtime', 'process.ts')}';
      await runProcess('api', async () => ({ close: async () => {} }));
      setInterval(() => {}, 1_000);`;
    const child = spawn(process.execPath, ['--input-type=module-typescript', '--eval', source], {
      env: { PATH },
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk) => (output += String(chunk)));
    try {
      await eventually('it is ready', () => output.includes('"ready"'), 30_000);
      child.kill('SIGUSR1');
      child.kill('SIGTERM');
      await eventually('it closes', () => output.includes('"closed"'), 30_000);
      assert.doesNotMatch(output, /Debugger listening/);
    } finally {
      child.kill('SIGKILL');
    }
  });

  it('loads no package from HOME, where programs write', () => {
    const home = mkdtempSync(join(tmpdir(), 'baton-home-'));
    try {
      // The driver of PostgreSQL tries to load this optional package.
      const planted = join(home, '.node_modules', 'pg-native');
      mkdirSync(planted, { recursive: true });
      writeFileSync(join(planted, 'index.js'), 'console.log("planted")');
      const { stdout, status } = spawnSync('sh', [inCheckout('deploy', 'process.sh'), 'task-worker'], {
        env: { PATH, HOME: home },
        encoding: 'utf8',
      });
      assert.equal(status, 1);
      assert.match(stdout, /DATABASE_URL is missing/);
      assert.doesNotMatch(stdout, /planted/);
    } finally {
      rmSync(home, { recursive: true });
    }
  });

  it('reads no settings of Temporal from HOME in the image', () => {
    const stage = readContainerfile(inCheckout('deploy', 'Containerfile')).at(-1);
    const inImage = environmentOf(stage ?? assert.fail());
    const home = mkdtempSync(join(tmpdir(), 'baton-home-'));
    try {
      mkdirSync(join(home, '.config', 'temporalio'), { recursive: true });
      const planted = '[profile.default.tls]\ndisabled = true\n';
      writeFileSync(join(home, '.config', 'temporalio', 'temporal.toml'), planted);
      const environment = {
        ...inImage,
        HOME: home,
        TEMPORAL_ADDRESS: 'temporal:7233',
        TEMPORAL_API_KEY: 'key',
      };
      assert.equal(loadTemporalConfig(environment).connectionOptions.tls, true);
    } finally {
      rmSync(home, { recursive: true });
    }
  });
});
