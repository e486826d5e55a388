import assert from 'node:assert/strict';
import { formatValue, formatBench, formatSummary, ratioCells } from '../../bench/support/format.ts';
import { toJson, mergeReports, ratio, type Series } from '../../bench/support/results.ts';
import { readBenchOptions } from '../../bench/support/options.ts';
import { sampleResult } from './sample.ts';

describe('a figure with a target', () => {
  const atMost = { wanted: { at_most: 1.5 } };
  const atLeast = { wanted: { at_least: 0.08 } };

  it('meets its target up to the limit and not beyond', () => {
    assert.equal(ratio('r', 1.5, atMost).met, true);
    assert.equal(ratio('r', 1.5001, atMost).met, false);
    assert.equal(ratio('r', 0.08, atLeast).met, true);
    assert.equal(ratio('r', 0.0799, atLeast).met, false);
  });

  it('misses its target if it could not be measured', () => {
    for (const value of [Number.NaN, Number.POSITIVE_INFINITY]) {
      const { met, value: kept } = ratio('r', value, atLeast);
      assert.deepEqual([kept, met], [null, false]);
    }
  });

  it('has no verdict without a target', () => {
    assert.equal(ratio('r', 2).met, null);
  });

  it('is printed with its target and verdict', () => {
    assert.deepEqual(ratioCells(sampleResult().ratios).slice(1), [
      ['ours ÷ bare', '1.05', '≤ 1.5', 'met'],
      ['rate ÷ bare', '0.050', '≥ 0.08', 'NOT MET'],
      ['events in a history', '17', '', ''],
    ]);
  });
});

describe('the output of a bench', () => {
  it('groups thousands and rounds to the digits of the column', () => {
    assert.equal(formatValue(1_234_567.891, { unit: 'MB', digits: 1 }), '1,234,567.9 MB');
    assert.equal(formatValue(1_016, { unit: '/s', digits: 0 }), '1,016/s');
    assert.equal(formatValue(999.96, { unit: '', digits: 2 }), '999.96');
    assert.equal(formatValue(-1_234, { unit: '', digits: 0 }), '-1,234');
    assert.equal(formatValue(null, { unit: 'ms', digits: 1 }), '');
  });

  it('has a line for each row and each ratio, and marks a quick run', () => {
    const text = formatBench(sampleResult({ quick: true }));
    assert.match(text, /^A sample \(quick/);
    assert.match(text, /bare <&>\s+12\.3 ms\s+1,234,568\/s/);
    assert.match(text, /rate ÷ bare\s+0\.050\s+≥ 0\.08\s+NOT MET/);
  });

  it('ends with the machine, the programs, and the number of met targets', () => {
    const text = formatSummary({ benches: [sampleResult()] });
    assert.match(text, /2 × Some CPU, 24 GB, Linux 6\.1; 4 KiB are on the disk in 0\.70 ms/);
    assert.match(text, /Node 26\.10\.0, Temporal server 1\.32\.0, its SDK 1\.23\.0, PostgreSQL 18\.4/);
    assert.match(text, /1 of 2 met$/);
  });
});

describe('merged reports', () => {
  it('contain the last result of each bench', () => {
    const [early, late] = [sampleResult({ seconds: 1 }), sampleResult({ seconds: 2 })];
    const other = sampleResult({ name: 'soak' });
    const { benches } = mergeReports([{ benches: [early, other] }, { benches: [late] }]);
    assert.deepEqual(
      benches.map(({ name, seconds }) => [name, seconds]),
      [
        ['soak', 60],
        ['sender', 2],
      ],
    );
  });
});

describe('a stored report', () => {
  it('has one line per point, and is read back unchanged', () => {
    const points: Series['points'] = [
      [0, 1.5],
      [1e-7, -20],
    ];
    const report = { benches: [sampleResult({ title: 'a [ 1, 2 ] b', series: [{ title: 'API', points }] })] };
    const text = toJson(report);
    assert.deepEqual(JSON.parse(text), report);
    assert.match(text, /^ +\[0,1\.5\],$/m);
    assert.match(text, /"values": \[13,null\]/);
  });
});

describe('the arguments of a bench', () => {
  it('set its size and options', () => {
    assert.deepEqual(readBenchOptions(['300', 'ours', '--profile']), {
      size: 300,
      rest: ['ours'],
      quick: false,
      profile: true,
      minutes: undefined,
    });
    assert.equal(readBenchOptions(['--minutes', '30']).minutes, 30);
    assert.equal(readBenchOptions(['--quick']).quick, true);
  });

  it('are rejected with a message if they are invalid', () => {
    assert.throws(() => readBenchOptions(['many']), /the size must be a number above 0, not many/);
    assert.throws(() => readBenchOptions(['--minutes', '0']), /--minutes must be a number above 0/);
    assert.throws(() => readBenchOptions(['--fast']), /--fast/);
  });
});
