import assert from 'node:assert/strict';
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
