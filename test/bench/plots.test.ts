import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { updateTables } from '../../bench/support/documents.ts';
import { drawPlot } from '../../bench/support/plots.ts';
import { row, type BenchReport } from '../../bench/support/results.ts';
import { inCheckout } from '../../dev/common/paths.ts';
import { sampleResult } from './sample.ts';

/** @throws unless all elements are closed in order, attributes are quoted, and text has no bare `<` or `&` */
function assertWellFormed(svg: string): void {
  const open: string[] = [];
  const rest = svg.replaceAll(
    /<(\/?)([\w:-]+)((?:\s+[\w:-]+="[^"<]*")*)\s*(\/?)>/g,
    (_, end: string, name: string, _attributes: string, single: string) => {
      if (end) assert.equal(open.pop(), name);
      else if (!single) open.push(name);
      return '';
    },
  );
  assert.deepEqual(open, []);
  assert.ok(!/[<>]|&(?!(amp|lt|gt|quot|#\d+);)/.test(rest), rest.slice(0, 200));
}

describe('the plot of a bench', () => {
  it('is a well-formed SVG with its labels as text', async () => {
    const svg = (await drawPlot(sampleResult())) ?? '';
    assert.match(svg, /^<svg [^>]*xmlns="http:\/\/www\.w3\.org\/2000\/svg"/);
    assertWellFormed(svg);
    for (const text of ['bare &lt;&amp;&gt;', 'ours', 'CPU of a POST', 'ours ÷ bare']) {
      assert.ok(svg.includes(`>${text}</text>`), text);
    }
  });

  it('is identical each time it is drawn', async () => {
    assert.equal(await drawPlot(sampleResult()), await drawPlot(sampleResult()));
  });

  it('has no background, so that it fits a light and a dark page', async () => {
    const svg = (await drawPlot(sampleResult())) ?? '';
    assert.ok(!/fill="(white|#fff|black|#000)/.test(svg));
  });

  it('has a line for each process of a soak', async () => {
    const points: [number, number][] = [
      [0, 100],
      [1, 102],
    ];
    const series = [
      { title: 'API', points },
      { title: 'Temporal', points },
    ];
    const svg = (await drawPlot(sampleResult({ name: 'soak', ratios: [], series }))) ?? '';
    assertWellFormed(svg);
    assert.equal(svg.match(/aria-roledescription="line mark"/g)?.length, 2);
    assert.ok(svg.includes('>Temporal</text>'));
  });

  it('has a bar for each figure that has grown', async () => {
    const column = (title: string, unit = '') => ({ title, unit, digits: 1 });
    const table = {
      id: 'growth',
      title: 'Growth',
      columns: [column('empty'), column('20,000'), column('growth', '×')],
      rows: [row('a list (ms)', [2, 4, 2]), row('another one (ms)', [2, 4, null])],
    };
    const svg = (await drawPlot(sampleResult({ name: 'growth', ratios: [], tables: [table] }))) ?? '';
    assertWellFormed(svg);
    assert.ok(svg.includes('>a list</text>'));
    assert.equal(svg.match(/aria-roledescription="bar"/g)?.length, 1);
  });

  it('is null without data', async () => {
    assert.equal(await drawPlot(sampleResult({ name: 'other', ratios: [], tables: [] })), null);
  });
});

describe('the figures of the documents', () => {
  const folder = inCheckout('docs', 'performance');
  const page = readFileSync(inCheckout('docs', 'performance.md'), 'utf8');

  it('include every bench', () => {
    for (const name of ['tasks', 'webhooks', 'channel', 'sender', 'growth', 'soak']) {
      for (const part of ['where', 'picture'])
        assert.ok(page.includes(`<!-- figures:${name}.${part} -->\n`), name);
    }
    assert.equal(page.match(/<!-- figures:/g)?.length, page.match(/<!-- \/figures -->/g)?.length);
  });

  it('are those of the stored results, as are the plots', async () => {
    const figures = `${folder}/figures.json`;
    const report = existsSync(figures)
      ? (JSON.parse(readFileSync(figures, 'utf8')) as BenchReport)
      : { benches: [] };
    assert.equal(updateTables(page, report), page);
    for (const bench of report.benches) {
      const picture = readFileSync(`${folder}/${bench.name}.svg`, 'utf8');
      assertWellFormed(picture);
      assert.equal(picture, await drawPlot(bench), bench.name);
    }
  });
});
