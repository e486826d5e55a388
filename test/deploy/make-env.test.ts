import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const SCRIPT = new URL('../../deploy/make-env.sh', import.meta.url).pathname;

describe('make-env.sh', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'make-env-'));
    for (const program of ['dirname', 'mv']) {
      const path = execFileSync('sh', ['-c', `command -v ${program}`], { encoding: 'utf8' }).trim();
      symlinkSync(path, join(folder, program));
    }
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  /** Runs the script with an `openssl` that is this shell script, or without one. */
  function run(openssl: string | null) {
    if (openssl !== null) writeFileSync(join(folder, 'openssl'), `#!/bin/sh\n${openssl}\n`, { mode: 0o755 });
    return spawnSync('/bin/sh', [SCRIPT, 'https://baton.example.com', join(folder, 'made')], {
      env: { PATH: folder },
      encoding: 'utf8',
    });
  }
  const made = () => readdirSync(folder).filter((name) => name.startsWith('made'));

  it('writes every key to a file that only its owner can read', () => {
    assert.equal(run('echo some-key').status, 0);
    assert.deepEqual(made(), ['made']);
    assert.equal(statSync(join(folder, 'made')).mode & 0o777, 0o600);
    const lines = readFileSync(join(folder, 'made'), 'utf8').trimEnd().split('\n');
    assert.equal(lines.filter((line) => line.endsWith('some-key')).length, 6);
  });

  it('writes nothing without openssl, and says that it is missing', () => {
    const { status, stderr, stdout } = run(null);
    assert.deepEqual([status, stdout, made()], [1, '', []]);
    assert.match(stderr, /openssl is missing/);
  });

  it('writes nothing if openssl fails', () => {
    const { status, stdout } = run('exit 3');
    assert.deepEqual([status, stdout, made()], [3, '', []]);
  });
});
