import assert from 'node:assert/strict';
import { runSearchOf, textQueryOf } from '../../src/domain/tasks/run-search.ts';

describe('a search for runs', () => {
  it('splits a text into terms, and terms at punctuation', () => {
    assert.deepEqual(runSearchOf(' csv  A-17\tann@example.com ')?.terms, [
      ['csv'],
      ['A', '17'],
      ['ann', 'example', 'com'],
    ]);
    assert.deepEqual(runSearchOf('- Größe !')?.terms, [['Größe']]);
  });

  it('needs a word', () => {
    for (const text of ['', ' ', '-', `'`, '\\ & | ! ( ) :* <->'])
      assert.equal(runSearchOf(text), null, text);
  });

  it('contains no character that is special in a text query', () => {
    const search = runSearchOf(`it's \\a & b | !c (d) e:* <-> f`);
    assert.ok(search);
    assert.equal(
      textQueryOf(search),
      `('it' <-> 's':*) & ('a':*) & ('b':*) & ('c':*) & ('d':*) & ('e':*) & ('f':*)`,
    );
  });

  const id = '0197d3c7-1f2a-7bcd-8ef0-123456789abc';
  for (const text of [id, id.toUpperCase(), id.replaceAll('-', '')]) {
    it(`finds the run with the id ${text}`, () => {
      assert.deepEqual(runSearchOf(text)?.ids, { first: id, last: id });
    });
  }

  for (const [text, first, last] of [
    ['0197d3c7', '0197d3c7-0000-0000-0000-000000000000', '0197d3c7-ffff-ffff-ffff-ffffffffffff'],
    [' 0197d3c7 ', '0197d3c7-0000-0000-0000-000000000000', '0197d3c7-ffff-ffff-ffff-ffffffffffff'],
    ['0197d3c7-', '0197d3c7-0000-0000-0000-000000000000', '0197d3c7-ffff-ffff-ffff-ffffffffffff'],
    ['0197D3C7-1f2', '0197d3c7-1f20-0000-0000-000000000000', '0197d3c7-1f2f-ffff-ffff-ffffffffffff'],
    ['0197d3c71f', '0197d3c7-1f00-0000-0000-000000000000', '0197d3c7-1fff-ffff-ffff-ffffffffffff'],
  ] as const) {
    it(`finds the runs whose id begins with ${text}`, () => {
      assert.deepEqual(runSearchOf(text)?.ids, { first, last });
    });
  }

  for (const text of [
    '0197d3c',
    '0197-d3c7',
    '0197d3c7 1f2a',
    '0197d3cg',
    `${id}0`,
    `${id.replaceAll('-', '')}0`,
    'deadline',
    '-0197d3c7',
  ]) {
    it(`does not take "${text}" for the beginning of an id`, () => {
      assert.equal(runSearchOf(text)?.ids, null);
    });
  }
});
