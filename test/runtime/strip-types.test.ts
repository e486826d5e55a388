import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { inCheckout } from '../../dev/common/paths.ts';

/** Prints whether it is the entry point, whether Node's TypeScript compiler is loaded, and where it is. */
const PROGRAM = `type Place = string;
const compiler = (process as unknown as { moduleLoadList: string[] }).moduleLoadList.some((name) => /amaro/.test(name));
const place: Place = String(new Error('here').stack).split('\\n')[1]?.replace(/.*:(\\d+:\\d+)\\)?$/, '$1') ?? '';
console.log(JSON.stringify({ isMain: import.meta.main, compiler, place }));
`;

describe('code without types', () => {
  let folder: string;
  let cache: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'baton-types-'));
    cache = join(folder, 'cache');
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
    writeFileSync(join(folder, 'program.ts'), PROGRAM);
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  async function run(cacheFolder: string | undefined, program = 'program.ts') {
    const words = ['--import', inCheckout('src', 'runtime', 'strip-types.mjs'), join(folder, program)];
    const { NODE_COMPILE_CACHE: _, BATON_TYPESCRIPT_CACHE: __, ...environment } = process.env;
    const given = cacheFolder === undefined ? {} : { BATON_TYPESCRIPT_CACHE: cacheFolder };
    const { stdout } = await promisify(execFile)(process.execPath, words, {
      env: { ...environment, ...given },
    });
    return JSON.parse(stdout) as { isMain: boolean; compiler: boolean; place: string };
  }

  it('is stored at the first start, and loaded without a compiler at the next one', async () => {
    const first = await run(cache);
    assert.deepEqual(first, { isMain: true, compiler: true, place: '3:29' });
    assert.deepEqual(await run(cache), { ...first, compiler: false });
    const [file = '', ...more] = readdirSync(cache);
    assert.deepEqual(more, []);
    assert.doesNotMatch(readFileSync(join(cache, file), 'utf8'), /type Place/);
  });

  it('is stored again if the file has changed', async () => {
    await run(cache);
    writeFileSync(join(folder, 'program.ts'), `\n${PROGRAM}`);
    assert.equal((await run(cache)).place, '4:29');
    assert.equal(readdirSync(cache).length, 2);
  });

  it('is stored again if its file is incomplete, as after a power failure', async () => {
    const first = await run(cache);
    const [name = ''] = readdirSync(cache);
    const complete = readFileSync(join(cache, name), 'utf8');
    for (const text of ['', '\0'.repeat(complete.length), complete.slice(0, -10)]) {
      writeFileSync(join(cache, name), text);
      assert.deepEqual(await run(cache), first);
      assert.equal(readFileSync(join(cache, name), 'utf8'), complete);
    }
  });

  it('is also loaded if its folder cannot be written, or if there is none', async () => {
    const expected = { isMain: true, compiler: true, place: '3:29' };
    assert.deepEqual(await run(join(folder, 'package.json', 'below')), expected);
    assert.deepEqual(await run(undefined), expected);
    assert.ok(!existsSync(cache));
  });
});
