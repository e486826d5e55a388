import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { inCheckout } from '../../dev/common/paths.ts';
import { environmentOf } from '../../dev/launcher/own-processes.ts';
import type { ProcessName } from '../../src/runtime/unneeded-secrets.ts';
import { ensureSecrets } from '../../dev/launcher/secrets.ts';

/** Loads the launcher without starting it, and prints the packages that it has loaded. */
const PROGRAM = `
  import { registerHooks } from 'node:module';
  const packages = new Set();
  registerHooks({
    load(url, context, next) {
      const name = url.split('/node_modules/')[1]?.match(/^(@[^/]+\\/)?[^/]+/)[0];
      if (name) packages.add(name);
      return next(url, context);
    },
  });
  await import(process.argv[1]);
  console.log(JSON.stringify([...packages]));
  process.exit();`;

describe('the launcher', () => {
  it('loads only the client of PostgreSQL, so that it needs little memory while it supervises', async () => {
    const words = ['--input-type=module', '-e', PROGRAM, inCheckout('dev', 'launcher', 'start.ts')];
    const { stdout } = await promisify(execFile)(process.execPath, words);
    const packages = JSON.parse(stdout) as string[];
    assert.ok(packages.includes('pg'));
    const others = packages.filter((name) => !/^(pg|pg-.*|pgpass|postgres-.*|split2|xtend)$/.test(name));
    assert.deepEqual(others, []);
  });
});

describe('the secrets of a checkout', () => {
  it('are created once, and refused if one is missing', () => {
    const folder = mkdtempSync(join(tmpdir(), 'baton-secrets-'));
    try {
      const file = join(folder, 'secrets.json');
      const secrets = ensureSecrets(file);
      assert.deepEqual(ensureSecrets(file), secrets);
      writeFileSync(file, JSON.stringify({ ...secrets, token_keys: '' }));
      assert.throws(() => ensureSecrets(file), /token_keys is missing/);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe('the environment of a process', () => {
  it('contains no secret that the process does not need', () => {
    const secrets = { BATON_SEALING_KEYS: 'a:1', BATON_TOKEN_KEYS: 'a:2', OPENAI_API_KEY: 'sk-1' };
    const namesFor = (process: ProcessName) =>
      Object.keys(environmentOf(process, { PATH: '/bin', ...secrets }));
    assert.deepEqual(namesFor('api'), ['PATH', 'BATON_SEALING_KEYS', 'BATON_TOKEN_KEYS']);
    assert.deepEqual(namesFor('task-worker'), ['PATH', 'BATON_SEALING_KEYS', 'OPENAI_API_KEY']);
    assert.deepEqual(namesFor('delivery-worker'), ['PATH', 'BATON_SEALING_KEYS']);
    assert.deepEqual(namesFor('all-workers'), ['PATH', 'BATON_SEALING_KEYS', 'OPENAI_API_KEY']);
  });

  it('contains a metrics port that no other process has', () => {
    const portsFor = (given: string | undefined) =>
      (['api', 'all-workers'] as const).map(
        (process) =>
          environmentOf(process, given === undefined ? {} : { METRICS_PORT: given })['METRICS_PORT'],
      );
    assert.deepEqual(portsFor('9464'), ['9464', '9465']);
    assert.deepEqual(portsFor('no port'), ['no port', 'no port']);
    assert.deepEqual(portsFor(undefined), [undefined, undefined]);
  });
});
