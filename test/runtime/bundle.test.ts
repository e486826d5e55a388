import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { SourceMap, type SourceMapPayload } from 'node:module';
import { DefaultLogger } from '@temporalio/worker';
import { inCheckout } from '../../dev/common/paths.ts';
import { workflowBundle } from '../../src/runtime/bundle.ts';

const MAP = '//# sourceMappingURL=data:application/json;charset=utf-8;base64,';
/** A part of a line of code, and the file that it is in. */
const MARKS = [
  { mark: "nonRetryable('the input is missing')", file: 'src/workflows/task-run.ts' },
  { mark: 'the plan has no step', file: 'src/domain/tasks/run-state.ts' },
  {
    mark: 'Duplicate storage driver name',
    file: 'node_modules/@temporalio/common/lib/converter/extstore.js',
  },
];

describe('the bundle of the workflows', () => {
  let lines: string[];
  let map: SourceMap;
  before(async () => {
    const { codePath } = await workflowBundle(new DefaultLogger('ERROR'));
    const text = readFileSync(codePath, 'utf8');
    const start = text.lastIndexOf(MAP);
    lines = text.slice(0, start).split('\n');
    const json = Buffer.from(text.slice(start + MAP.length), 'base64').toString();
    map = new SourceMap(JSON.parse(json) as SourceMapPayload);
  });

  const lineOf = (mark: string, of: string[]) => {
    const found = of.flatMap((line, index) => (line.includes(mark) ? [index] : []));
    assert.equal(found.length, 1, mark);
    return found[0] ?? -1;
  };

  for (const { mark, file } of MARKS) {
    it(`leads to the line of ${file}`, () => {
      const sources = readFileSync(inCheckout(file), 'utf8').split('\n');
      const line = lineOf(mark, lines);
      const found = map.findEntry(line, lines[line]?.indexOf(mark) ?? -1);
      assert.ok('originalLine' in found, mark);
      assert.ok(found.originalSource.endsWith(file), found.originalSource);
      assert.equal(found.originalLine, lineOf(mark, sources));
    });
  }

  it('has no comments, no indentation and only ASCII characters', () => {
    const text = lines.join('\n');
    assert.doesNotMatch(text, /^\s*(\/\/|\/\*|\*)/m);
    assert.ok(lines.filter((line) => line.startsWith(' ')).length < lines.length / 100);
    // oxlint-disable-next-line no-control-regex
    assert.doesNotMatch(text, /[^\u0000-\u007f]/);
  });
});
