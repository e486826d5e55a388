import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { inCheckout } from '../../dev/common/paths.ts';
import { workflowBundle } from '../../src/runtime/bundle.ts';

/** Uses a copy of the sources, for which no bundle exists yet. */
describe('the workflow bundle', function () {
  let folder: string;
  let cache: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'baton-bundle-'));
    cache = join(folder, '.local', 'cache');
    for (const part of ['src', 'workers', 'package.json', 'package-lock.json'])
      cpSync(inCheckout(part), join(folder, part), { recursive: true });
    symlinkSync(inCheckout('node_modules'), join(folder, 'node_modules'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  /** Requests the bundle in a new process. Returns its path and the resident megabytes of that process. */
  async function requestBundle(): Promise<{ codePath: string; megabytes: number }> {
    const file = pathToFileURL(join(folder, 'src', 'runtime', 'bundle.ts')).href;
    const code = `
      import { workflowBundle } from '${file}';
      const { codePath } = await workflowBundle(console);
      console.log(JSON.stringify({ codePath, megabytes: process.memoryUsage().rss / 2 ** 20 }));
    `;
    const args = ['--input-type=module', '--eval', code];
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: folder });
    return JSON.parse(stdout) as { codePath: string; megabytes: number };
  }

  it('is built once, in a separate process, for processes that start in parallel', async () => {
    const all = await Promise.all([requestBundle(), requestBundle(), requestBundle()]);
    assert.deepEqual(
      readdirSync(cache).map((name) => join(cache, name)),
      [all[0].codePath],
      'no temporary file is left',
    );
    for (const { codePath, megabytes } of all) {
      assert.equal(codePath, all[0].codePath);
      assert.ok(megabytes < 100, `${megabytes} MB`);
    }
  });

  it('is built despite the claim of a process that has ended', async () => {
    const { codePath } = await requestBundle();
    rmSync(cache, { recursive: true });
    mkdirSync(cache);
    const { pid } = await endedProcess();
    writeFileSync(`${codePath}.claim`, `${pid}`);
    assert.equal((await requestBundle()).codePath, codePath);
    assert.equal(readdirSync(cache).length, 1);
  });

  it('reports why it cannot be built', async () => {
    writeFileSync(join(folder, 'src', 'workflows', 'index.ts'), "import './nowhere.ts';\n");
    await assert.rejects(requestBundle(), /nowhere\.ts/);
    assert.deepEqual(readdirSync(cache), [], 'the next process can try again');
  });
});

describe('the text of the workflow bundle', () => {
  it('is ASCII, since V8 would keep two bytes for each character', async () => {
    const { codePath } = await workflowBundle(console);
    assert.deepEqual(readFileSync(codePath, 'utf8').match(/[^ -~\s]/g), null);
  });
});

describe('the source map of the workflow bundle', () => {
  it('has the positions for stack traces, but not the sources, which each worker would keep in memory', async () => {
    const { codePath } = await workflowBundle(console);
    const encoded = readFileSync(codePath, 'utf8').split(';base64,').at(-1) ?? '';
    const map = JSON.parse(Buffer.from(encoded, 'base64').toString()) as Record<string, unknown>;
    assert.ok(String(map['mappings']).length > 1_000);
    assert.ok((map['sources'] as string[]).some((source) => source.endsWith('src/workflows/task-run.ts')));
    assert.equal(map['sourcesContent'], undefined);
  });
});

async function endedProcess(): Promise<{ pid: number }> {
  const running = promisify(execFile)(process.execPath, ['--version']);
  const { pid = 0 } = running.child;
  await running;
  return { pid };
}
