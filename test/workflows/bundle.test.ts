import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { inCheckout } from '../../dev/common/paths.ts';

/** A copy of the sources, so that nothing is built yet. */
describe('the bundle of workflows', function () {
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

  /** What a process gets that asks for the bundle; its resident megabytes then. */
  async function asked(): Promise<{ codePath: string; megabytes: number }> {
    const file = pathToFileURL(join(folder, 'src', 'runtime', 'bundle.ts')).href;
    const code = `
      import { workflowBundle } from '${file}';
      const { codePath } = await workflowBundle(console);
      console.log(JSON.stringify({ codePath, megabytes: process.memoryUsage().rss / 2 ** 20 }));
    `;
    const words = ['--input-type=module', '--eval', code];
    const { stdout } = await promisify(execFile)(process.execPath, words, { cwd: folder });
    return JSON.parse(stdout) as { codePath: string; megabytes: number };
  }

  it('is built once by those who start side by side, and in none of them', async () => {
    const all = await Promise.all([asked(), asked(), asked()]);
    assert.deepEqual(
      readdirSync(cache).map((name) => join(cache, name)),
      [all[0].codePath],
      'no draft and no claim is left',
    );
    for (const { codePath, megabytes } of all) {
      assert.equal(codePath, all[0].codePath);
      assert.ok(megabytes < 100, `${megabytes} MB`);
    }
  });

  it('is built in spite of the claim of a process that has ended', async () => {
    const { codePath } = await asked();
    rmSync(cache, { recursive: true });
    mkdirSync(cache);
    const { pid } = await ended();
    writeFileSync(`${codePath}.claim`, `${pid}`);
    assert.equal((await asked()).codePath, codePath);
    assert.equal(readdirSync(cache).length, 1);
  });

  it('tells why it can’t be built', async () => {
    writeFileSync(join(folder, 'src', 'workflows', 'index.ts'), "import './nowhere.ts';\n");
    await assert.rejects(asked(), /nowhere\.ts/);
    assert.deepEqual(readdirSync(cache), [], 'the next one tries again');
  });
});

async function ended(): Promise<{ pid: number }> {
  const running = promisify(execFile)(process.execPath, ['--version']);
  const { pid = 0 } = running.child;
  await running;
  return { pid };
}
