import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { callbackSecretOf, storeCallbackSecret } from '../../cli/callback-secrets.ts';

const MODULE = new URL('../../cli/callback-secrets.ts', import.meta.url).href;

describe('the callback secrets of submitted runs', () => {
  let home: string;
  let env: NodeJS.ProcessEnv;
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'baton-secrets-'));
    env = { HOME: home };
  });
  afterEach(() => rmSync(home, { recursive: true, force: true }));

  const folder = () => join(home, '.config', 'baton', 'callback-secrets');

  it('are found by the id of the run, and readable for their owner only', () => {
    storeCallbackSecret(env, 'one', 'first');
    storeCallbackSecret(env, 'two', 'second');
    storeCallbackSecret(env, 'one', 'third');
    assert.deepEqual(
      ['one', 'two', 'three'].map((id) => callbackSecretOf(env, id)),
      ['third', 'second', undefined],
    );
    assert.deepEqual(readdirSync(folder()).toSorted(), ['one.json', 'two.json']);
    assert.deepEqual(
      [folder(), join(folder(), 'one.json')].map((path) => statSync(path).mode & 0o777),
      [0o700, 0o600],
    );
  });

  it('are all kept if several commands store them at the same time', async () => {
    const script = `import { storeCallbackSecret } from '${MODULE}';
      for (let number = 0; number < 25; number += 1)
        storeCallbackSecret(process.env, process.argv[1] + number, process.argv[1]);`;
    const names = ['a', 'b', 'c', 'd'];
    const options = { env: { ...process.env, ...env, XDG_CONFIG_HOME: '' } };
    await Promise.all(
      names.map((name) =>
        promisify(execFile)(process.execPath, ['--input-type=module', '-e', script, name], options),
      ),
    );
    for (const name of names)
      for (let number = 0; number < 25; number += 1)
        assert.equal(callbackSecretOf(env, `${name}${number}`), name);
  });

  it('are removed when 500 newer ones exist', () => {
    for (let number = 0; number <= 501; number += 1) storeCallbackSecret(env, `run-${number}`, 'secret');
    assert.equal(readdirSync(folder()).length, 500);
    assert.deepEqual(
      [0, 1, 2, 501].map((number) => callbackSecretOf(env, `run-${number}`) ?? null),
      [null, null, 'secret', 'secret'],
    );
  });

  it('stay in their folder, whatever id the server sends', () => {
    storeCallbackSecret(env, '../outside', 'secret');
    storeCallbackSecret(env, '..', 'other');
    assert.equal(callbackSecretOf(env, '../outside'), 'secret');
    assert.equal(callbackSecretOf(env, '..'), 'other');
    assert.equal(readdirSync(folder()).length, 2);
    assert.ok(!existsSync(join(home, '.config', 'baton', 'outside.json')));
  });
});
