import assert from 'node:assert/strict';
import { updateTables } from '../../bench/support/documents.ts';
import { sampleResult } from './sample.ts';

const report = { benches: [sampleResult()] };
const marked = (what: string, inside = 'old\n') =>
  `before\n<!-- figures:${what} -->\n${inside}<!-- /figures -->\nafter\n`;

describe('a document with figures', () => {
  it('gets a table between its markers, and its other text stays unchanged', () => {
    assert.equal(
      updateTables(marked('sender.posts'), report),
      marked(
        'sender.posts',
        '\n|  | CPU of a post | rate |\n|---|--:|--:|\n| bare <&> | 12.3 ms | 1,234,568/s |\n| ours | 13.0 ms |  |\n\n',
      ),
    );
  });

  it('does not change at a second update', () => {
    const once = updateTables(marked('sender.ratios') + marked('sender.where'), report);
    assert.equal(updateTables(once, report), once);
    assert.match(once, /\| rate ÷ bare \| 0\.050 \| ≥ 0\.08 \| \*\*not met\*\* \|/);
    assert.match(once, /2026-01-31: 2 × Some CPU/);
  });

  it('shows the plot of a bench', () => {
    const text = updateTables(marked('sender.picture'), report);
    assert.ok(text.includes('![A sample](performance/sender.svg)'));
  });

  it('keeps the figures of benches that were not run', () => {
    assert.equal(updateTables(marked('soak.memory'), report), marked('soak.memory'));
  });

  it('marks the figures of a quick run as meaningless', () => {
    const quick = { benches: [sampleResult({ quick: true })] };
    assert.match(updateTables(marked('sender.where'), quick), /A quick run/);
  });

  it('is rejected if a marker names no table', () => {
    assert.throws(() => updateTables(marked('sender.costs'), report), /sender has no table costs/);
  });
});
