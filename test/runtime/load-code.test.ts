import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
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

/** Runs a program with the loader, and returns the JSON that it prints. */
async function runProgram(program: string, cacheFolder: string | undefined): Promise<unknown> {
  const words = ['--import', inCheckout('src', 'runtime', 'load-code.mjs'), program];
  const { NODE_COMPILE_CACHE: _, BATON_CODE_CACHE: __, ...environment } = process.env;
  const given = cacheFolder === undefined ? {} : { BATON_CODE_CACHE: cacheFolder };
  const { stdout } = await promisify(execFile)(process.execPath, words, {
    env: { ...environment, ...given },
  });
  return JSON.parse(stdout) as unknown;
}

describe('TypeScript without types', () => {
  let folder: string;
  let cache: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'baton-types-'));
    cache = join(folder, 'cache');
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
    writeFileSync(join(folder, 'program.ts'), PROGRAM);
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const run = async (cacheFolder: string | undefined) =>
    (await runProgram(join(folder, 'program.ts'), cacheFolder)) as {
      isMain: boolean;
      compiler: boolean;
      place: string;
    };

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

/** A file of a package that is long enough. It reports the place of an error, and the comments in itself. */
const LONG = `// ${'x'.repeat(5_000)}
    function place() { /* comment */ return new Error('here').stack.split('\\n')[1].replace(/.*:(\\d+):\\d+\\)?$/, '$1'); }
`;
const RESULT = '{ line: place(), hasComment: /comment/.test(place.toString().slice(0, 40)) }';
const FILES = {
  'required.cjs': `${LONG}module.exports = ${RESULT};`,
  'imported.mjs': `${LONG}export default ${RESULT};`,
  'short.cjs': `module.exports = 'short'; // comment`,
};

describe('a package without comments', () => {
  let folder: string;
  let cache: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'baton-package-'));
    cache = join(folder, 'cache');
    const inPackage = join(folder, 'node_modules', '@some', 'package');
    mkdirSync(inPackage, { recursive: true });
    for (const [name, text] of Object.entries(FILES)) writeFileSync(join(inPackage, name), text);
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  /** Imports a file of the package, and returns what it exports. */
  async function load(name: string, cacheFolder: string | null = cache) {
    const program = join(folder, 'program.mjs');
    writeFileSync(program, `import it from '@some/package/${name}'; console.log(JSON.stringify(it));`);
    return await runProgram(program, cacheFolder ?? undefined);
  }
  const stored = () =>
    readdirSync(cache)
      .map((name) => readFileSync(join(cache, name), 'utf8'))
      .filter((text) => text.includes('function place'));

  for (const name of ['required.cjs', 'imported.mjs']) {
    it(`is stored at the first start, and loaded from there (${name})`, async () => {
      assert.deepEqual(await load(name), { line: '2', hasComment: false });
      const [text = '', ...more] = stored();
      assert.deepEqual(more, []);
      assert.ok(text.length < 500);
      assert.deepEqual(await load(name), { line: '2', hasComment: false });
      assert.deepEqual(stored(), [text]);
    });
  }

  it('is loaded as it is without a folder, or if it is short', async () => {
    assert.deepEqual(await load('required.cjs', null), { line: '2', hasComment: true });
    assert.ok(!existsSync(cache));
    assert.equal(await load('short.cjs'), 'short');
    assert.ok(!existsSync(cache));
  });

  it('is loaded as it is if its folder cannot be written, or if it cannot be parsed', async () => {
    const noFolder = join(folder, 'program.mjs', 'below');
    assert.deepEqual(await load('required.cjs', noFolder), { line: '2', hasComment: false });
    const broken = join(folder, 'node_modules', '@some', 'package', 'required.cjs');
    writeFileSync(broken, `${LONG}let let = 1;`);
    await assert.rejects(load('required.cjs'), /required\.cjs:3[^]*SyntaxError: let is disallowed/);
  });
});
