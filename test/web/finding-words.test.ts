import assert from 'node:assert/strict';
import { dayOf, parseDay, startOfDay } from '../../web/format/spans.ts';
import { applicableTo, doForAll, MAX_SELECTED, withSelected } from '../../web/pages/orchestration/bulk.ts';
import {
  filtersOf,
  hasFilters,
  parametersOf,
  runListSearch,
  withoutEmpty,
} from '../../web/pages/orchestration/list-search.ts';
import { submitterOptions } from '../../web/pages/orchestration/words.ts';
import { matchesWords, stepFrom } from '../../web/shell/palette/matching.ts';

describe('the filters of runs in an address', () => {
  it('are those that are valid', () => {
    assert.deepEqual(
      runListSearch({
        text: 'csv A-17',
        state: 'failed,unknown,paused',
        type: 'bug',
        error: 'step_failed,unknown',
        by: 'user:ann@example.com',
        needs: 'me',
        span: '7d',
        since: '2026-01-31T12:00:00Z',
        from: '2026-01-31',
        to: '2026-02-30',
        submit: 'yes',
        other: 'x',
      }),
      {
        text: 'csv A-17',
        state: ['paused', 'failed'],
        type: ['bug'],
        error: ['step_failed'],
        by: 'user:ann@example.com',
        needs: 'me',
        span: '7d',
        since: '2026-01-31T12:00:00.000Z',
        from: '2026-01-31',
        submit: 'yes',
      },
    );
    assert.deepEqual(runListSearch({ needs: 'you', span: '8d', since: 'noon', text: '' }), {});
  });

  it('do not include the open run and the form', () => {
    assert.equal(hasFilters({ run: 'x', submit: 'yes' }), false);
    assert.equal(hasFilters({ run: 'x', needs: 'me' }), true);
    assert.deepEqual(filtersOf({ run: 'x', submit: 'yes', text: 'a' }), { text: 'a' });
    assert.deepEqual(withoutEmpty({ text: '', state: [], by: undefined, to: '2026-01-31' }), {
      to: '2026-01-31',
    });
  });

  it('become parameters of the API', () => {
    assert.deepEqual(
      parametersOf({
        text: 'csv',
        state: ['failed'],
        type: ['bug'],
        error: ['step_failed'],
        project: 'p',
        by: 'me',
        needs: 'me',
      }),
      {
        q: 'csv',
        state: ['failed'],
        task_type: ['bug'],
        errors: ['step_failed'],
        project_id: 'p',
        created_by: 'me',
        needs_me: 'true',
      },
    );
    assert.deepEqual(parametersOf({ text: '-' }), {}, 'the beginning of a text');
    assert.deepEqual(parametersOf({ since: '2026-01-31T12:00:00.000Z' }), {
      created_after: '2026-01-31T12:00:00.000Z',
    });
    assert.deepEqual(parametersOf({ from: '2026-01-31', to: '2026-02-28' }), {
      created_after: new Date(2026, 0, 31).toISOString(),
      created_before: new Date(2026, 2, 1).toISOString(),
    });
  });
});

describe('a day of a filter', () => {
  it('exists', () => {
    for (const text of ['2026-02-30', '2026-1-1', 'today', '', null, '2026-01-31T00:00']) {
      assert.equal(parseDay(text), undefined, String(text));
    }
    assert.equal(parseDay('2028-02-29'), '2028-02-29');
  });

  it('begins and ends in the local time zone', () => {
    assert.equal(dayOf(new Date(2026, 0, 5, 23, 59)), '2026-01-05');
    assert.equal(startOfDay('2026-01-05'), new Date(2026, 0, 5).toISOString());
    assert.equal(startOfDay('2026-12-31', { after: 1 }), new Date(2027, 0, 1).toISOString());
  });
});

describe('the submitters of a filter', () => {
  it('are the caller, the members by name, and who else submitted listed runs', () => {
    const members = [
      { name: 'Olga', email: 'olga@example.com' },
      { name: 'Ada', email: 'ada@example.com' },
    ];
    const labels = ['key:bt_k3f9', 'user:ada@example.com', 'user:gone@example.com', 'key:bt_k3f9', 'me'];
    assert.deepEqual(submitterOptions(members, labels), [
      { value: 'me', name: 'Me' },
      { value: 'user:ada@example.com', name: 'Ada' },
      { value: 'user:olga@example.com', name: 'Olga' },
      { value: 'key:bt_k3f9', name: 'key bt_k3f9' },
      { value: 'user:gone@example.com', name: 'gone@example.com' },
    ]);
  });
});

describe('the palette', () => {
  it('matches the beginnings of words', () => {
    assert.ok(matchesWords('cre web', 'Create webhook'));
    assert.ok(matchesWords('  ', 'Create webhook'));
    assert.ok(matchesWords('größe', 'Die Größe'));
    assert.ok(matchesWords('acme.io', 'Billing https://api.acme.io/hooks'));
    assert.equal(matchesWords('hook', 'Create webhook'), false);
    assert.equal(matchesWords('create key', 'Create webhook'), false);
  });

  it('selects the next and the previous entry, around the ends', () => {
    const keys = ['a', 'b', 'c'];
    assert.deepEqual(
      [stepFrom(keys, 'a', 1), stepFrom(keys, 'c', 1), stepFrom(keys, 'a', -1), stepFrom(keys, 'b', -1)],
      ['b', 'a', 'c', 'a'],
    );
    assert.deepEqual([stepFrom(keys, undefined, 1), stepFrom(keys, 'gone', -1)], ['a', 'c']);
    assert.equal(stepFrom([], 'a', 1), undefined);
  });
});

describe('an action for many runs', () => {
  const runs = [
    { state: 'executing' },
    { state: 'failed' },
    { state: 'paused' },
    { state: 'completed' },
  ] as const;

  it('is possible for those in a suitable state', () => {
    assert.deepEqual(
      (['cancel', 'rerun'] as const).map((action) => applicableTo(action, runs).map(({ state }) => state)),
      [
        ['executing', 'paused'],
        ['failed', 'completed'],
      ],
    );
  });

  it('has a limited selection', () => {
    const many = Array.from({ length: MAX_SELECTED + 20 }, (_, index) => String(index));
    const all = withSelected(new Set(['a']), many, true);
    assert.deepEqual(
      [all.size, all.has('a'), all.has('98'), all.has('99')],
      [MAX_SELECTED, true, true, false],
    );
    assert.deepEqual([...withSelected(new Set(['a', 'b']), ['b', 'c'], false)], ['a']);
  });

  it('is done a few at a time, and an error stops nothing', async () => {
    let current = 0;
    let most = 0;
    const progress: number[] = [];
    const results = await doForAll(
      Array.from({ length: 12 }, (_, index) => index),
      async (number) => {
        current += 1;
        most = Math.max(most, current);
        await new Promise(setImmediate);
        current -= 1;
        if (number === 3) throw new Error('three');
        return number * 2;
      },
      (done) => progress.push(done),
    );
    assert.equal(most, 5);
    assert.deepEqual(
      results.map((result) => ('value' in result ? result.value : (result.error as Error).message)),
      [0, 2, 4, 'three', 8, 10, 12, 14, 16, 18, 20, 22],
    );
    assert.deepEqual(
      progress,
      results.map((_, index) => index + 1),
    );
  });
});
