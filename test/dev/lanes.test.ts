import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Failure, startLaneProcess } from '../../dev/tests/lane-process.ts';
import { LONGEST, longestFirst, replacesClock, runAlone } from '../../dev/tests/lanes.ts';
import { testFiles } from '../../dev/tests/selection.ts';
import { checkout } from '../../dev/common/paths.ts';
import type { ServicesForTests } from '../../dev/tests/services.ts';

const SHARED = join(import.meta.dirname, '../support/shared.ts');
const FILES = {
  mixed: `describe('numbers', () => {
    it('add', () => {});
    it('divide', () => { throw new Error('by zero'); });
    it('multiply');
  });`,
  broken: `throw new Error('no such module');`,
  crashing: `it('crashes', () => process.exit(3));`,
  careless: `it('starts work', () => void Promise.reject(new Error('forgotten')));
  it('continues', () => {});`,
  after: `import { sharedInLane } from '${SHARED}';
  const shared = sharedInLane(async () => 1, async () => void Promise.reject(new Error('at the end')));
  it('starts it', () => shared());`,
  late: `import { sharedInLane } from '${SHARED}';
  const shared = sharedInLane(async () => 1, async () => void Promise.reject(new Error('too late')));
  it('starts it', () => shared());
  it('fails', () => { throw new Error('on purpose'); });`,
  leaking: `import { createServer } from 'node:net';
  it('listens', () => new Promise((resolve) => createServer().listen(0, resolve)));`,
  clock: `import { mock } from 'node:test';
  it('waits', () => mock.timers.enable({ apis: ['setTimeout'] }));`,
  frozen: `import { createServer } from 'node:net';
  import { mock } from 'node:test';
  it('waits', () => void mock.method(performance, 'now', () => 0));
  it('listens', () => new Promise((resolve) => createServer().listen(0, resolve)));`,
  dated: `import { mock } from 'node:test';
  it('waits', () => void mock.method(Date, 'now', () => 0));`,
  ahead: `it('waits', () => { const now = Date.now; Date.now = () => now() + 1_000; });`,
  stuck: `import { sharedInLane } from '${SHARED}';
  const shared = sharedInLane(async () => 1, () => new Promise(() => setInterval(() => {}, 1_000)));
  it('starts it', () => shared());
  it('fails', () => { throw new Error('on purpose'); });`,
  sharing: `import { sharedInLane } from '${SHARED}';
  let started = 0;
  const shared = sharedInLane(async () => ++started, async (number) => console.log('closed', number));
  it('starts the shared resource once', async () => { if ((await shared()) !== 1 || (await shared()) !== 1) throw new Error('twice'); });
  it('fails', () => { throw new Error('on purpose'); });`,
};

const titlesOf = (failures: readonly Failure[]) => failures.map(({ title }) => title);

describe('the order of test files', () => {
  it('begins with the longest: by their times, or those known to take minutes', () => {
    const { long } = testFiles(checkout);
    const unknown = longestFirst(long, {});
    assert.equal(unknown[0], 'test/fuzz/every-endpoint.long.ts');
    assert.deepEqual(unknown.toSorted(), long);
    assert.ok(unknown.indexOf('test/workflows/continuing.long.ts') < unknown.indexOf(long[0] ?? ''));
    const [first = '', second = ''] = long;
    const known = { [first]: 1_000, [second]: 600_000 };
    const order = longestFirst(long, known);
    assert.deepEqual([order[0], order.at(-1)], [second, first]);
  });

  it('names files that exist', () => {
    const { long } = testFiles(checkout);
    assert.deepEqual(
      LONGEST.filter((file) => !long.includes(file)),
      [],
    );
  });
});

describe('a lane of tests', () => {
  let folder: string;
  const lane = (options: { grep?: string } = {}) =>
    startLaneProcess({} as ServicesForTests, {
      signal: new AbortController().signal,
      live: false,
      leakLimitMs: 200,
      ...options,
    });
  const file = (name: keyof typeof FILES) => join(folder, `${name}.ts`);

  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'baton-lane-'));
    for (const [name, text] of Object.entries(FILES)) writeFileSync(join(folder, `${name}.ts`), text);
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  it('counts passed and skipped tests, and returns the full titles of failed ones', async () => {
    const one = await lane();
    const result = await one.run(file('mixed'));
    assert.ok('outcome' in result);
    const { passed, skipped, failed } = result.outcome;
    assert.deepEqual([passed, skipped, titlesOf(failed)], [1, 1, ['numbers › divide']]);
    assert.match(failed[0]?.reason ?? '', /^by zero\nat .*mixed\.ts:3/);
    assert.match(result.output, /by zero/);
    assert.deepEqual(await one.close(), { how: 'code 0', output: '' });
  });

  it('runs only the tests that match a pattern', async () => {
    const one = await lane({ grep: 'add' });
    const result = await one.run(file('mixed'));
    assert.ok('outcome' in result);
    assert.deepEqual([result.outcome.passed, result.outcome.failed], [1, []]);
    await one.close();
  });

  it('reports a file that cannot be loaded as failed, and continues', async () => {
    const one = await lane();
    const result = await one.run(file('broken'));
    assert.ok('outcome' in result);
    assert.deepEqual(titlesOf(result.outcome.failed), [`${file('broken')} could not be loaded`]);
    assert.match(result.output, /no such module/);
    assert.ok('outcome' in (await one.run(file('mixed'))));
    await one.close();
  });

  it('reports the exit code if its process ends during a file', async () => {
    const one = await lane();
    const result = await one.run(file('crashing'));
    assert.ok('broken' in result);
    assert.equal(result.broken, 'code 3');
  });

  it('fails a test with an error that nothing has handled', async () => {
    const one = await lane();
    const result = await one.run(file('careless'));
    assert.ok('outcome' in result);
    assert.deepEqual(titlesOf(result.outcome.failed), ['starts work']);
    assert.match(result.outcome.failed[0]?.reason ?? '', /^forgotten/);
    assert.equal((await one.close()).how, 'code 0');
  });

  it('reports an error after the tests beside their failures, and continues', async () => {
    const one = await lane();
    const result = await one.run(file('late'));
    assert.ok('outcome' in result);
    const { failed } = result.outcome;
    assert.deepEqual(titlesOf(failed), [
      'fails',
      `${file('late')} caused an error while no test was running`,
    ]);
    assert.match(failed[1]?.reason ?? '', /^too late/);
    assert.ok('outcome' in (await one.run(file('mixed'))));
    assert.equal((await one.close()).how, 'code 0');
  });

  it('fails at its end if an error came after the last file', async () => {
    const one = await lane();
    await one.run(file('after'));
    const { how, output } = await one.close();
    assert.equal(how, 'code 1');
    assert.match(output, /at the end/);
  });

  it('fails if a resource is left open, and names the file', async () => {
    const one = await lane();
    await one.run(file('mixed'));
    await one.run(file('leaking'));
    const { how, output } = await one.close();
    assert.equal(how, 'code 1');
    assert.match(output, /left something open: TCPServerWrap\n {2}\S+leaking\.ts: TCPServerWrap$/);
  });

  it('ends if its shared resources do not close after a file with a failed test', async () => {
    const one = await lane();
    const result = await one.run(file('stuck'));
    assert.ok('outcome' in result);
    const { passed, failed, isStuck } = result.outcome;
    assert.deepEqual([passed, isStuck], [1, true]);
    assert.deepEqual(titlesOf(failed), ['fails', `${file('stuck')} did not close its shared resources`]);
    assert.equal((await one.close()).how, 'code 1');
  });

  it('runs a file that replaces the clock in a process of its own, which must leave nothing open', async () => {
    const names = ['mixed', 'clock', 'frozen', 'dated', 'ahead'] as const;
    assert.deepEqual(
      names.map((name) => replacesClock(file(name))),
      [false, true, true, true, true],
    );
    const clean = await runAlone(file('clock'), lane);
    assert.ok('outcome' in clean);
    assert.deepEqual([clean.outcome.passed, clean.outcome.failed], [1, []]);
    const leaking = await runAlone(file('frozen'), lane);
    assert.ok('broken' in leaking);
    assert.match(leaking.output, /left something open: TCPServerWrap/);
  });

  it('closes shared resources after a file with a failed test', async () => {
    const one = await lane();
    const { output } = await one.run(file('sharing'));
    assert.match(output, /closed 1/);
    assert.deepEqual(await one.close(), { how: 'code 0', output: '' });
  });
});
