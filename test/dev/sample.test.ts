import assert from 'node:assert/strict';
import { checkout } from '../../dev/common/paths.ts';
import { candidatesFor } from '../../dev/mutation/candidates.ts';
import { chooseMutants, orderOfFiles } from '../../dev/mutation/choice.ts';
import { readPlanted } from '../../dev/mutation/planted.ts';
import { sampledFiles, withMutant, type PlausibleMutant } from '../../dev/mutation/plausible.ts';
import { diffOf, sampleSummary, triedLine, wilsonInterval } from '../../dev/mutation/sample-report.ts';
import { hashOf, testsCalling, type TestReach } from '../../dev/tests/reach.ts';

const FILE = 'src/mail/texts.ts';
const TEXT = 'const one = () => { return 1 < 2; };\nconst two = () => {\n  return 3;\n};\n';
const [ONE, TWO] = [TEXT.indexOf('() => { return'), TEXT.indexOf('() => {\n')];

/** The reach of a test file that has called functions of FILE, by their positions. */
function reachOf(test: string, called: [number, number][], rest: Partial<TestReach> = {}): TestReach {
  const ends = (start: number) => TEXT.indexOf('}', start) + 1;
  const functions = [ONE, TWO].map((start): [number, number, number] => [
    start,
    ends(start),
    called.find(([position]) => position === start)?.[1] ?? 0,
  ]);
  const sources = { [FILE]: { hash: hashOf(TEXT), functions: [[0, TEXT.length, 0] as const, ...functions] } };
  return { test, hash: '', ms: 1_000, isPassed: true, ...rest, sources } as TestReach;
}

function mutant(original: string, replacement: string): PlausibleMutant {
  const start = TEXT.indexOf(original);
  return { file: FILE, mutator: 'Example', start, end: start + original.length, original, replacement };
}

describe('planted faults', () => {
  const read = (faults: unknown) => readPlanted(JSON.stringify(faults), new Map([[FILE, TEXT]]));

  it('become mutants of what they change', () => {
    const fault = { file: FILE, original: 'return 1 < 2;', replacement: 'return 1 > 2;', effect: 'none' };
    assert.deepEqual(read([fault]), [{ ...mutant('<', '>'), mutator: 'planted' }]);
    const [longer] = read([{ file: FILE, original: 'return 3;', replacement: 'return 33;' }]);
    assert.equal(withMutant(TEXT, longer ?? assert.fail()), TEXT.replace('return 3;', 'return 33;'));
  });

  it('are refused if their text does not occur exactly once', () => {
    const fault = (original: string) => [{ file: FILE, original, replacement: '' }];
    assert.throws(() => read(fault('return')), /fault 1 does not occur exactly once/);
    assert.throws(() => read(fault('return 4')), /fault 1 does not occur exactly once/);
    assert.throws(() => read([{ file: FILE, original: 'return 3' }]), /replacement/);
  });
});

describe('the files of a sample', () => {
  it('are those that are not mutated otherwise, without migrations', () => {
    const files = sampledFiles(checkout);
    assert.ok(files.includes('src/reconciler/reconcile.ts'));
    assert.ok(files.includes('src/outbound/attempt.ts'));
    assert.ok(!files.includes('src/outbound/sign.ts'), 'it is mutated otherwise');
    assert.ok(!files.some((file) => file.startsWith('src/domain/') || file.includes('/migrations/')));
  });

  it('come in an order that depends on the seed, one of each folder first', () => {
    const files = ['a/one.ts', 'a/two.ts', 'b/one.ts', 'c/one.ts'].map((file) => ({ file, size: 1 }));
    const order = orderOfFiles(files, 7);
    assert.deepEqual(orderOfFiles(files.toReversed(), 7), order);
    assert.deepEqual(new Set(order.slice(0, 3).map((file) => file[0])), new Set(['a', 'b', 'c']));
    const orders = new Set(Array.from({ length: 20 }, (_, seed) => orderOfFiles(files, seed).join(' ')));
    assert.ok(orders.size > 5, `${orders.size} different orders`);
  });

  it('come earlier the larger they are', () => {
    const files = [
      { file: 'a/large.ts', size: 9_000 },
      { file: 'a/small.ts', size: 1_000 },
    ];
    const isLargeFirst = (seed: number) => orderOfFiles(files, seed)[0] === 'a/large.ts';
    const count = Array.from({ length: 1_000 }, (_, seed) => seed).filter(isLargeFirst).length;
    assert.ok(count > 850 && count < 950, `${count} of 1,000`);
  });
});

describe('the mutants of a sample', () => {
  const mutantsOf = async (file: string) =>
    [1, 2, 3, 4, 5].map((start) => ({ file, start, end: start + 1, replacement: 'x' }));

  it('are one of each file first, and at most three of a file', async () => {
    const options = { count: 10, seed: 1, mutantsOf, accept: async () => true };
    const chosen = await chooseMutants(['a.ts', 'b.ts'], options);
    assert.deepEqual(
      chosen.map(({ file }) => file),
      ['a.ts', 'b.ts', 'a.ts', 'b.ts', 'a.ts', 'b.ts'],
    );
    assert.equal(new Set(chosen.map(({ file, start }) => `${file} ${start}`)).size, 6);
  });

  it('are the first ones of a larger sample with the same seed', async () => {
    const choose = (count: number) =>
      chooseMutants(['a.ts', 'b.ts', 'c.ts'], { count, seed: 4, mutantsOf, accept: async () => true });
    assert.deepEqual(await choose(3), (await choose(7)).slice(0, 3));
  });

  it('are replaced by others of their file if they are not accepted', async () => {
    const accept = async ({ start }: { start: number }) => start === 5;
    const chosen = await chooseMutants(['a.ts', 'b.ts'], { count: 10, seed: 1, mutantsOf, accept });
    assert.deepEqual(
      chosen.map(({ file, start }) => `${file} ${start}`),
      ['a.ts 5', 'b.ts 5'],
    );
  });
});

describe('the test files for a mutant', () => {
  const at = TEXT.indexOf('1 < 2');
  const testsFor = (reaches: TestReach[], text = TEXT) =>
    testsCalling(reaches, { file: FILE, text, at })?.map(({ test }) => test);

  it('are those that call its function', () => {
    const reaches = [reachOf('one.test.ts', [[ONE, 2]]), reachOf('two.test.ts', [[TWO, 1]])];
    assert.deepEqual(testsFor(reaches), ['one.test.ts']);
    assert.deepEqual(testsFor([reachOf('two.test.ts', [[TWO, 1]])]), []);
  });

  it('are unknown if no test file has loaded the file', () => {
    assert.equal(testsFor([]), undefined);
    assert.equal(testsFor([{ ...reachOf('one.test.ts', []), sources: {} }]), undefined);
  });

  it('are all that use the file if the mutant is outside of functions', () => {
    const reaches = [reachOf('one.test.ts', [[ONE, 2]]), reachOf('two.test.ts', [[TWO, 1]])];
    assert.equal(testsCalling(reaches, { file: FILE, text: TEXT, at: 0 })?.length, 2);
  });

  it('are all that use the file if it has changed since', () => {
    assert.deepEqual(testsFor([reachOf('two.test.ts', [[TWO, 1]])], ` ${TEXT}`), ['two.test.ts']);
  });

  it('come in the order of their durations, those about the same subject first', () => {
    const reaches = [
      reachOf('test/api/keys.test.ts', [[ONE, 1]], { ms: 500 }),
      reachOf('test/api/long.test.ts', [[ONE, 1]], { ms: 900 }),
      reachOf('test/mail/text.test.ts', [[ONE, 1]], { ms: 2_000 }),
      reachOf('test/mail/failing.test.ts', [[ONE, 1]], { isPassed: false }),
    ];
    const { tests, isReached } = candidatesFor({ file: FILE, at }, reaches, new Map([[FILE, TEXT]]));
    assert.deepEqual(
      tests.map(({ test }) => test),
      ['test/mail/text.test.ts', 'test/api/keys.test.ts', 'test/api/long.test.ts'],
    );
    assert.ok(isReached);
  });

  it('are also those that call only other functions of the file, after the others', () => {
    const reaches = [
      reachOf('test/api/other.test.ts', [[TWO, 1]], { ms: 10 }),
      reachOf('test/api/unrelated.test.ts', [], { ms: 10 }),
      reachOf('test/api/long.test.ts', [[ONE, 1]], { ms: 900 }),
    ];
    const { tests } = candidatesFor({ file: FILE, at }, reaches, new Map([[FILE, TEXT]]));
    assert.deepEqual(
      tests.map(({ test }) => test),
      ['test/api/long.test.ts', 'test/api/other.test.ts'],
    );
  });

  it('are those that import the file if none calls the function', () => {
    const files = new Map([
      [FILE, TEXT],
      ['test/mail/text.test.ts', "import '../../src/mail/texts.ts';"],
      ['test/mail/other.test.ts', ''],
    ]);
    const reaches = [reachOf('test/mail/text.test.ts', [[TWO, 1]]), reachOf('test/mail/other.test.ts', [])];
    const { tests, isReached } = candidatesFor({ file: FILE, at }, reaches, files);
    assert.deepEqual(tests, [{ test: 'test/mail/text.test.ts', ms: 1_000 }]);
    assert.ok(!isReached);
  });
});

describe('the test files for a mutant of a workflow', () => {
  it('are those of workflows and agents, and others that import it: calls in threads are not counted', () => {
    const file = 'src/workflows/steps.ts';
    const reaches = ['api/a', 'api/c', 'workflows/b', 'agents/d'].map((name) =>
      reachOf(`test/${name}.test.ts`, []),
    );
    const files = new Map([
      [file, TEXT],
      ['test/api/a.test.ts', "import '../../src/workflows/steps.ts';"],
      ...reaches.slice(1).map(({ test }) => [test, ''] as const),
    ]);
    const { tests, isReached } = candidatesFor({ file, at: 0 }, reaches, files);
    assert.deepEqual(
      tests.map(({ test }) => test),
      ['test/workflows/b.test.ts', 'test/api/a.test.ts', 'test/agents/d.test.ts'],
    );
    assert.ok(isReached);
  });
});

describe('the report of a sample', () => {
  const outcomes = [
    { status: 'killed', by: 'test/mail/text.test.ts', reason: 'a text', files: 1 },
    { status: 'killed', by: 'test/mail/text.test.ts', reason: 'a text', files: 1 },
    { status: 'survived', files: 3, isCutOff: true },
    { status: 'not reached', files: 0, isCutOff: false },
  ] as const;

  it('shows the changed lines', () => {
    assert.equal(
      diffOf(TEXT, mutant('1 < 2', '1 <= 2')),
      '- const one = () => { return 1 < 2; };\n+ const one = () => { return 1 <= 2; };',
    );
    const block = diffOf(TEXT, mutant('{\n  return 3;\n}', '{}'));
    assert.equal(block, '- const two = () => {\n-   return 3;\n- };\n+ const two = () => {};');
    assert.equal(withMutant('a < b', { ...mutant('', ''), start: 2, end: 3, replacement: '>' }), 'a > b');
  });

  it('says which test noticed a mutant, and whether the time limit ended the search', () => {
    const [killed, , survived] = outcomes.map((outcome) =>
      triedLine({ ...mutant('1 < 2', 'true'), line: 1, outcome }),
    );
    assert.equal(killed, `killed       ${FILE}:1 Example: test/mail/text.test.ts (a text)`);
    assert.equal(survived, `survived     ${FILE}:1 Example: 3 test files, ended by the time limit`);
  });

  it('counts, and gives the score with its interval', () => {
    assert.equal(
      sampleSummary(outcomes),
      '2 killed, 1 survived, 1 not reached: 50 % killed (95 % interval: 15 to 85 %)',
    );
    assert.equal(sampleSummary([]), '0 killed, 0 survived, 0 not reached');
  });

  it('has an interval that never leaves 0 to 100 percent', () => {
    assert.deepEqual(
      wilsonInterval(0, 10).map((part) => part.toFixed(3)),
      ['0.000', '0.278'],
    );
    assert.deepEqual(
      wilsonInterval(10, 10).map((part) => part.toFixed(3)),
      ['0.722', '1.000'],
    );
    assert.deepEqual(
      wilsonInterval(30, 40).map((part) => part.toFixed(3)),
      ['0.598', '0.858'],
    );
  });
});
