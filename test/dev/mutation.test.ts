import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { checkout, inCheckout } from '../../dev/common/paths.ts';
import { percentOf, scoresOf, unkilledIn, type Mutant, type Results } from '../../dev/mutation/results.ts';
import { filesBySubject, LEFT_OUT, SUBJECTS } from '../../dev/mutation/subjects.ts';
import { SURVIVORS } from '../../dev/mutation/survivors.ts';
import { reachOfTests } from '../../dev/mutation/tests.ts';

const FILE = 'src/outbound/sign.ts';

function mutant(status: Mutant['status'], line = 1): Mutant {
  const location = { start: { line, column: 1 }, end: { line, column: 3 } };
  return { id: `${status} ${line}`, mutatorName: 'BlockStatement', replacement: '{}', location, status };
}

describe('the mutated code', () => {
  it('is every file of the vocabulary, except those that are left out', () => {
    const left = LEFT_OUT.flatMap(({ files }) => globSync(files, { cwd: checkout }));
    const mutated = filesBySubject(checkout).flatMap(({ files }) => files);
    assert.equal(new Set([...left, ...mutated]).size, left.length + mutated.length, 'no file is in both');
    const all = [...left, ...mutated];
    for (const file of globSync('src/domain/**/*.ts', { cwd: checkout })) assert.ok(all.includes(file), file);
  });

  it('is named by patterns that match files', () => {
    for (const { files } of [...SUBJECTS, ...LEFT_OUT]) {
      for (const pattern of files) assert.ok(globSync(pattern, { cwd: checkout }).length > 0, pattern);
    }
  });

  it('contains the code of each listed survivor', () => {
    for (const { file, mutants } of SURVIVORS) {
      const source = readFileSync(inCheckout(file), 'utf8').replaceAll(/\s+/g, ' ');
      for (const [code] of mutants) assert.ok(source.includes(code), `${file}: ${code}`);
    }
  });
});

describe('the tests that run for each mutant', () => {
  it('reach its file without services', () => {
    const reach = reachOfTests(checkout, [FILE]);
    assert.equal(reach.get('test/outbound/sign.test.ts')?.get(FILE), 1);
    assert.equal(reach.get('test/outbound/webhook-request.test.ts')?.get(FILE), 2);
    assert.ok(!reach.has('test/domain/matching.test.ts'), 'it does not reach the file');
    assert.ok(!reach.has('test/workflows/callback.test.ts'), 'it needs services');
  });
});

describe('the score of mutated code', () => {
  const source = 'a b\nc d\n';
  const mutants = [
    mutant('Killed'),
    mutant('Timeout'),
    mutant('Survived', 2),
    mutant('NoCoverage'),
    mutant('Ignored'),
  ];
  const results: Results = { files: { [FILE]: { source, mutants } } };

  it('counts mutants that no test reaches as not killed, and ignores those that were not tried', () => {
    const scores = scoresOf(results).flatMap(({ files }) => files);
    const score = { killed: 2, survived: 1, uncovered: 1, explained: 0 };
    assert.deepEqual(scores, [{ file: FILE, score }]);
    assert.equal(percentOf(score), 50);
  });

  it('lists the code of the others', () => {
    assert.deepEqual(unkilledIn(results, FILE), [
      { file: FILE, line: 1, original: 'a ', replacement: '{}', reason: null },
      { file: FILE, line: 2, original: 'c ', replacement: '{}', reason: null },
    ]);
  });
});
