import assert from 'node:assert/strict';
import { groupRows, type RowGroup } from '../../web/components/row-groups.ts';
import { withNewest } from '../../web/pages/orchestration/newest.ts';

const run = (execution_id: string, state = 'executing') => ({ execution_id, state });
const page = (ids: string, next_cursor: string | null) => ({
  data: ids.split('').map((id) => run(id)),
  next_cursor,
});
const listOf = (...ids: string[]) => ({
  pages: ids.map((text, index) => page(text, index === ids.length - 1 ? null : `after ${text.at(-1)}`)),
  pageParams: [undefined, ...ids.slice(0, -1).map((text) => `after ${text.at(-1)}`)],
});
const shown = ({ pages }: Pick<ReturnType<typeof listOf>, 'pages'>) =>
  pages.map(({ data }) => data.map(({ execution_id }) => execution_id).join('')).join(' ');

describe('the first page of a list of runs', () => {
  const list = listOf('hgf', 'edc', 'ba');

  it('replaces the runs that are not older', () => {
    const newest = { data: [run('h', 'completed'), run('g'), run('f')], next_cursor: 'after f' };
    const after = withNewest(list, newest);
    assert.equal(shown(after), 'hgf edc ba');
    assert.equal(after.pages[0]?.data[0]?.state, 'completed');
    assert.deepEqual(after.pageParams, list.pageParams);
    assert.equal(after.pages[1], list.pages[1]);
  });

  it('adds new runs, and removes those that no longer match', () => {
    assert.equal(shown(withNewest(list, page('kjh', 'after h'))), 'kjhgf edc ba');
    assert.equal(shown(withNewest(list, page('hfd', 'after d'))), 'hfd c ba');
  });

  it('continues at the same cursors', () => {
    const after = withNewest(list, page('kjh', 'after h'));
    assert.deepEqual(
      after.pages.map(({ next_cursor }) => next_cursor),
      ['after f', 'after c', null],
    );
  });

  it('is the whole list if no loaded run is older', () => {
    const after = withNewest(list, page('hba', 'after a'));
    assert.equal(shown(after), 'hba');
    assert.equal(after.pages.at(-1)?.next_cursor, 'after a');
  });

  it('begins the list again if more runs are new than fit on a page', () => {
    const after = withNewest(list, page('nml', 'after l'));
    assert.equal(shown(after), 'nml');
    assert.deepEqual(after.pageParams, [undefined]);
    assert.equal(after.pages[0]?.next_cursor, 'after l');
  });

  it('is the whole list if no page follows', () => {
    assert.equal(shown(withNewest(list, page('hb', null))), 'hb');
    assert.equal(shown(withNewest(list, page('', null))), '');
  });

  it('changes nothing if it is empty and not the last one', () => {
    assert.equal(withNewest(list, page('', 'after f')), list);
  });
});

describe('the groups of a long list', () => {
  const rowsOf = (...numbers: number[]) => numbers.map((number) => ({ id: `${number}` }));
  const range = (from: number, to: number) =>
    Array.from({ length: from - to + 1 }, (_, index) => from - index);
  const all = rowsOf(...range(999, 0));
  /** The rows with these numbers, which are the same objects in each list. */
  const some = (...numbers: number[]) => numbers.map((number) => all[999 - number] ?? assert.fail());
  const group = (rows: { id: string }[], before: readonly RowGroup<{ id: string }>[] = []) =>
    groupRows(rows, ({ id }) => id, before);
  const keysOf = (groups: readonly RowGroup<{ id: string }>[]) =>
    groups.map(({ key, rows }) => `${key}: ${rows[0]?.id}–${rows.at(-1)?.id}`);
  const first = group(some(...range(599, 500)));

  it('have at most 50 rows', () => {
    assert.deepEqual(keysOf(first), ['1: 599–550', '2: 549–500']);
    assert.deepEqual(group([]), []);
  });

  it('keep their rows while others are added above and below', () => {
    const above = group(some(600, ...range(599, 500)), first);
    assert.deepEqual(keysOf(above), ['3: 600–600', '1: 599–550', '2: 549–500']);
    const more = group(some(...range(620, 470)), above);
    assert.deepEqual(keysOf(more), ['3: 620–600', '1: 599–550', '2: 549–500', '4: 499–470']);
    assert.deepEqual(keysOf(group(some(...range(620, 450)), more)).at(-1), '4: 499–450');
  });

  it('are the same objects if their rows are', () => {
    const after = group(some(600, ...range(599, 500)), first);
    assert.equal(after[1], first[0]);
    const changed = some(...range(599, 500)).with(70, { id: '529' });
    const [same, other] = group(changed, first);
    assert.equal(same, first[0]);
    assert.notEqual(other, first[1]);
  });

  it('lose rows that are no longer listed, and get back those between their own', () => {
    const fewer = group(some(599, 560, 550, ...range(549, 500)), first);
    assert.deepEqual(keysOf(fewer), ['1: 599–550', '2: 549–500']);
    const back = group(some(...range(599, 500)), fewer);
    assert.deepEqual(keysOf(back), ['1: 599–550', '2: 549–500']);
    assert.equal(back[0]?.rows.length, 50);
    assert.deepEqual(keysOf(group(some(...range(549, 500)), first)), ['2: 549–500']);
  });

  it('begin again for other rows', () => {
    assert.deepEqual(keysOf(group(some(...range(99, 90)), first)), ['3: 99–90']);
  });
});
