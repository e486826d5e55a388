import assert from 'node:assert/strict';
import { EVENT_KINDS, type EventKind } from '../../src/domain/webhooks/event-kinds.ts';
import { sampleData } from '../../src/domain/webhooks/event-samples.ts';
import { createMatcher, matchEvent, valuesOf, type Verdict } from '../../src/domain/webhooks/matching.ts';
import {
  FILTER_FIELDS,
  type Filter,
  type FilterField,
  type FilterValue,
} from '../../src/domain/webhooks/webhook.ts';

type Data = Record<string, unknown>;

const verdictOf = (event: EventKind, filters: Filter[], data: Data = sampleData(event)): Verdict =>
  matchEvent([{ event, filters }], { event, data });
const isSent = (...given: Parameters<typeof verdictOf>) => verdictOf(...given).match === 'send';
const reasonOf = (...given: Parameters<typeof verdictOf>) => {
  const { match, reason } = verdictOf(...given);
  return reason ?? match;
};

/** The member of `data` that contains the field, for each kind; empty: `data` itself. */
const ISSUE_FIELDS = {
  status: 'issue',
  priority: 'issue',
  type: 'issue',
  assignee: 'issue',
  project: 'issue',
  environment: 'issue',
} as const;
const FIELD_PLACES: Record<EventKind, Record<FilterField, string>> = {
  'issue.created': ISSUE_FIELDS,
  'issue.updated': ISSUE_FIELDS,
  'issue.deleted': ISSUE_FIELDS,
  'issue.moved': ISSUE_FIELDS,
  'comment.created': ISSUE_FIELDS,
  'sprint.started': placesIn('sprint', ''),
  'sprint.completed': placesIn('sprint', ''),
  'project.created': { ...placesIn('project', ''), project: 'itself' },
  'user.joined': placesIn('user', ''),
  'deployment.completed': placesIn('deployment', ''),
};

function placesIn(holder: string, project: string): Record<FilterField, string> {
  const other = { status: holder, priority: holder, type: holder, assignee: holder, environment: holder };
  return { ...other, project };
}

const PERSON = { id: 'u1', name: 'Ada', email: 'ada@example.com' };
const PROJECT = { id: 'p1', key: 'SHOP', name: 'Web shop' };
/** For each field: its value in the event, filter values that match it, and filter values that do not. */
const FIELD_VALUES: Record<
  FilterField,
  { value: unknown; equivalents: FilterValue[]; others: FilterValue[] }
> = {
  status: { value: 'Done', equivalents: ['Done'], others: ['done', 'Done ', '', null, 1] },
  priority: { value: 'High', equivalents: ['High'], others: ['Low', 'HIGH', null] },
  type: { value: 'Bug', equivalents: ['Bug'], others: ['Story', null] },
  assignee: { value: PERSON, equivalents: ['u1', 'Ada', 'ada@example.com'], others: ['ada', 'u2', null] },
  project: { value: PROJECT, equivalents: ['p1', 'SHOP', 'Web shop'], others: ['shop', 'p2', null] },
  environment: { value: 'production', equivalents: ['production'], others: ['staging', null] },
};

/** Returns the sample of a kind with the field set in the member that contains it. */
function eventWith(kind: EventKind, field: FilterField, value: unknown): Data {
  const parent = FIELD_PLACES[kind][field];
  const data = sampleData(kind);
  if (parent === 'itself') return { ...data, project: value };
  if (parent === '') return { ...data, [field]: value };
  return { ...data, [parent]: { ...(data[parent] as Data), [field]: value } };
}

describe('event matching', () => {
  it('requires a subscription to the kind of the event', () => {
    const data = sampleData('sprint.started');
    const to = (...kinds: EventKind[]) =>
      matchEvent(
        kinds.map((event) => ({ event, filters: [] })),
        { event: 'sprint.started', data },
      );
    assert.deepEqual(to('sprint.started'), { match: 'send', reason: null });
    assert.deepEqual(to('sprint.completed', 'sprint.started'), { match: 'send', reason: null });
    assert.deepEqual(to('sprint.completed'), { match: 'unsubscribed', reason: null });
    assert.deepEqual(to(), { match: 'unsubscribed', reason: null });
  });

  for (const kind of EVENT_KINDS) {
    for (const field of FILTER_FIELDS) {
      const { value, equivalents, others } = FIELD_VALUES[field];

      it(`compares the current ${field} of ${kind} with a list of values`, () => {
        const data = eventWith(kind, field, value);
        for (const equivalent of equivalents)
          assert.ok(isSent(kind, [{ field, values: [equivalent] }], data), String(equivalent));
        assert.ok(isSent(kind, [{ field, values: [...others, ...equivalents] }], data));
        for (const other of others) {
          assert.ok(!isSent(kind, [{ field, values: [other] }], data), String(other));
        }
        assert.match(reasonOf(kind, [{ field, values: others }], data), /^\w+ is .+, not .+ or /);
      });

      it(`compares the new ${field} in the changes of ${kind} with changed_to`, () => {
        const sample = sampleData(kind);
        const changes = [
          { field: 'other', old_value: null, new_value: 'x' },
          { field, old_value: null, new_value: value },
        ];
        for (const equivalent of equivalents) {
          assert.ok(
            isSent(kind, [{ field, changed_to: equivalent }], { ...sample, changes }),
            String(equivalent),
          );
        }
        for (const other of others) {
          assert.ok(!isSent(kind, [{ field, changed_to: other }], { ...sample, changes }), String(other));
        }
        const unchanged = { ...eventWith(kind, field, value), changes: changes.slice(0, 1) };
        for (const equivalent of equivalents) {
          assert.equal(
            reasonOf(kind, [{ field, changed_to: equivalent }], unchanged),
            `${field} did not change`,
          );
        }
      });
    }
  }

  it('ignores a change with equal old and new values', () => {
    const filters: Filter[] = [{ field: 'status', changed_to: 'Done' }];
    const eventOf = (old_value: unknown, new_value: unknown) => ({
      ...eventWith('issue.updated', 'status', 'Done'),
      changes: [{ field: 'status', old_value, new_value }],
    });
    assert.ok(isSent('issue.updated', filters, eventOf('To Do', 'Done')));
    assert.ok(isSent('issue.updated', filters, eventOf(undefined, 'Done')));
    assert.ok(!isSent('issue.updated', filters, eventOf('Done', 'Done')));
    const done = { id: 's_3', name: 'Done' };
    assert.ok(!isSent('issue.updated', filters, eventOf({ name: 'Done', id: 's_3' }, done)));
    const large = 2 ** 53;
    const toLarge: Filter[] = [{ field: 'status', changed_to: large + 2 }];
    assert.ok(isSent('issue.updated', toLarge, eventOf(large, large + 2)), 'numbers that are not exact');
  });

  it('requires all filters to match', () => {
    const data = eventWith('issue.updated', 'status', 'Done');
    const filters: Filter[] = [
      { field: 'status', values: ['Done'] },
      { field: 'priority', values: ['High', 'Low'] },
      { field: 'status', changed_to: 'In Progress' },
    ];
    assert.ok(isSent('issue.updated', filters, data));
    for (const [index, broken] of (
      [
        { field: 'status', values: ['To Do'] },
        { field: 'priority', values: [] },
        { field: 'status', changed_to: 'Done' },
      ] satisfies Filter[]
    ).entries()) {
      const changed = filters.with(index, broken);
      assert.ok(!isSent('issue.updated', changed, data), JSON.stringify(changed));
    }
  });

  it('distinguishes numbers from strings, and null from missing fields', () => {
    const numbered = eventWith('issue.updated', 'environment', 1);
    assert.ok(isSent('issue.updated', [{ field: 'environment', values: [1] }], numbered));
    assert.ok(!isSent('issue.updated', [{ field: 'environment', values: ['1', true] }], numbered));
    const unassigned = eventWith('issue.updated', 'assignee', null);
    assert.ok(isSent('issue.updated', [{ field: 'assignee', values: [null] }], unassigned));
    const { assignee: _, ...issue } = sampleData('issue.updated')['issue'] as Data;
    assert.equal(
      reasonOf('issue.updated', [{ field: 'assignee', values: [null] }], { issue }),
      'the event has no assignee',
    );
  });

  it('accepts the id, key and name of a project if the change contains one of them', () => {
    for (const newName of ['prj_3', 'SHOP', 'Web shop']) {
      const changes = [{ field: 'project', old_value: 'OPS', new_value: newName }];
      const data = { ...sampleData('issue.moved'), changes };
      for (const changed_to of ['prj_3', 'SHOP', 'Web shop']) {
        assert.ok(
          isSent('issue.moved', [{ field: 'project', changed_to }], data),
          `${newName} ${changed_to}`,
        );
      }
      assert.ok(!isSent('issue.moved', [{ field: 'project', changed_to: 'OPS' }], data));
    }
  });

  it('takes the names of the event only if the change is to the same object', () => {
    const assignee = { id: 'u1', name: 'Ada' };
    const sentTo = (changed_to: string, new_value: unknown) =>
      isSent('issue.updated', [{ field: 'assignee', changed_to }], {
        issue: { id: '1', assignee },
        changes: [{ field: 'assignee', old_value: null, new_value }],
      });
    assert.ok(sentTo('Ada', { id: 'u1', name: 'A. Okafor' }), 'it has one of the names');
    assert.ok(!sentTo('Ada', { id: 'u2', name: 'Ben' }), 'neither has an e-mail address');
    assert.ok(!sentTo('Ada', { id: 'u2', name: 'Ben', email: null }));
    assert.ok(sentTo('Ben', { id: 'u2', name: 'Ben' }));
  });

  it('knows an object without a name by its other names only', () => {
    const data = { issue: { id: '1', assignee: { id: 'u1', name: null } } };
    assert.ok(isSent('issue.updated', [{ field: 'assignee', values: ['u1'] }], data));
    assert.ok(!isSent('issue.updated', [{ field: 'assignee', values: [null] }], data));
  });

  it('takes the project of the event for no other field, and a new project for itself', () => {
    const withoutStatus = { issue: { id: '1' }, project: { id: 'p', name: 'Done' } };
    assert.equal(
      reasonOf('issue.updated', [{ field: 'status', values: ['Done'] }], withoutStatus),
      'the event has no status',
    );
    const project = { id: 'p', project: 'another field' };
    assert.ok(isSent('project.created', [{ field: 'project', values: ['p'] }], { project }));
  });

  it('ignores a change without a new value', () => {
    const data = { issue: { id: '1' }, changes: [{ field: 'status', old_value: 'Done' }] };
    assert.equal(
      reasonOf('issue.updated', [{ field: 'status', changed_to: 'Done' }], data),
      'status did not change',
    );
  });

  it('considers every change of a field', () => {
    const changes = ['To Do', 'In Review', 'Done'].map((new_value) => ({ field: 'status', new_value }));
    const data = { ...sampleData('issue.updated'), changes };
    for (const { new_value: changed_to } of changes) {
      assert.ok(isSent('issue.updated', [{ field: 'status', changed_to }], data), changed_to);
    }
    assert.equal(
      reasonOf('issue.updated', [{ field: 'status', changed_to: 'Blocked' }], data),
      'status changed to "To Do", "In Review" and "Done", not to "Blocked"',
    );
  });

  it('uses the project of the event if the issue has none', () => {
    const data = { issue: { id: '1' }, project: PROJECT };
    assert.ok(isSent('issue.created', [{ field: 'project', values: ['SHOP'] }], data));
  });

  it('returns a readable reason if a filter does not match', () => {
    const reasons: [Filter, string][] = [
      [{ field: 'status', values: ['Done'] }, 'status is "In Progress", not "Done"'],
      [{ field: 'status', values: ['Done', 'To Do'] }, 'status is "In Progress", not "Done" or "To Do"'],
      [{ field: 'status', changed_to: 'Done' }, 'status changed to "In Progress", not to "Done"'],
      [{ field: 'priority', changed_to: 'High' }, 'priority did not change'],
      [{ field: 'environment', values: ['x'] }, 'the event has no environment'],
      [{ field: 'assignee', values: [null] }, 'assignee is "Ada Okafor", not empty'],
    ];
    for (const [filter, reason] of reasons) assert.equal(reasonOf('issue.updated', [filter]), reason);
  });

  it('shows objects by name, key or id, and long values cut', () => {
    const shown = (value: unknown) =>
      reasonOf(
        'issue.updated',
        [{ field: 'status', values: ['x'] }],
        eventWith('issue.updated', 'status', value),
      );
    const rows: [value: unknown, text: string][] = [
      [{ id: 'i', key: 'k', name: 'n' }, '"n"'],
      [{ id: 'i', key: 'k' }, '"k"'],
      [{ id: 'i' }, '"i"'],
      [{ email: 'e' }, '"an object"'],
      [['a'], 'a list'],
      [{ name: ['a'] }, 'a list'],
      [7, '7'],
      ['x'.repeat(58), `"${'x'.repeat(58)}"`],
      ['x'.repeat(59), `"${'x'.repeat(59)}…`],
    ];
    for (const [value, text] of rows) assert.equal(shown(value), `status is ${text}, not "x"`);
  });

  it('shows up to five values', () => {
    const shown = (count: number) =>
      reasonOf('issue.updated', [{ field: 'status', values: [1, 2, 3, 4, 5, 6, 7].slice(0, count) }]);
    assert.equal(shown(5), 'status is "In Progress", not 1, 2, 3, 4 or 5');
    assert.equal(shown(6), 'status is "In Progress", not 1, 2, 3, 4, 5 or 1 more');
    assert.equal(shown(7), 'status is "In Progress", not 1, 2, 3, 4, 5 or 2 more');
  });

  it('returns a reason of at most 500 storable characters', () => {
    const odd = eventWith('issue.updated', 'status', `\u0000${'😀'.repeat(1_000)}\ud800`);
    const many = Array.from({ length: 100 }, (_, index) => `${'long '.repeat(50)}${index}`);
    const reason = reasonOf('issue.updated', [{ field: 'status', values: many }], odd);
    assert.ok(reason.length <= 500, String(reason.length));
    assert.ok(reason.isWellFormed() && !reason.includes('\u0000'));
    assert.match(reason, /or 95 more$/);
  });

  it('reads the changes of an event once for all filters on a field', () => {
    let read = 0;
    const change = {
      field: 'status',
      get new_value() {
        read += 1;
        return 'Done';
      },
    };
    const matches = createMatcher({ event: 'issue.updated', data: { issue: {}, changes: [change] } });
    const filters = Array.from({ length: 20 }, () => ({ field: 'status', changed_to: 'Done' }) as const);
    assert.equal(matches([{ event: 'issue.updated', filters }]).match, 'send');
    const once = read;
    for (let webhook = 0; webhook < 100; webhook += 1) matches([{ event: 'issue.updated', filters }]);
    assert.deepEqual([read, once < 5], [once, true]);
  });

  it('tolerates data of unexpected types', () => {
    const shapes: unknown[] = [null, 1, 'x', [], [null, 1, { field: 'status' }], { status: ['Done'] }, true];
    for (const shape of shapes) {
      for (const field of FILTER_FIELDS) {
        const data = { issue: shape, changes: shape, project: shape };
        assert.equal(verdictOf('issue.updated', [{ field, changed_to: 'x' }], data).match, 'skip');
        assert.equal(verdictOf('issue.updated', [{ field, values: ['zz'] }], data).match, 'skip');
      }
    }
  });
});

describe('the filter values that would match an event', () => {
  it('are the current value and the new values of the field', () => {
    assert.deepEqual(valuesOf('status', { event: 'issue.updated', data: sampleData('issue.updated') }), {
      values: ['In Progress'],
      changedTo: ['In Progress'],
    });
    assert.deepEqual(valuesOf('environment', { event: 'issue.updated', data: {} }), {
      values: [],
      changedTo: [],
    });
  });

  it('are the best-known names of people and projects', () => {
    const rows: [person: unknown, name: unknown][] = [
      [{ id: 'i', email: 'e', name: 'n', key: 'k' }, 'k'],
      [{ id: 'i', email: 'e', name: 'n' }, 'n'],
      [{ id: 'i', email: 'e', name: null }, 'e'],
      [{ id: 'i' }, 'i'],
      [null, null],
      [0, 0],
      [false, false],
    ];
    for (const [value, name] of rows) {
      const data = {
        issue: { assignee: value },
        changes: [{ field: 'assignee', old_value: 'x', new_value: value }],
      };
      assert.deepEqual(valuesOf('assignee', { event: 'issue.updated', data }), {
        values: [name],
        changedTo: [name],
      });
    }
  });

  it('leave out what no filter can name', () => {
    for (const value of [{}, { title: 't' }, [], { id: ['x'] }]) {
      const data = { issue: { assignee: value }, changes: [{ field: 'assignee', new_value: value }] };
      assert.deepEqual(valuesOf('assignee', { event: 'issue.updated', data }), { values: [], changedTo: [] });
    }
  });
});
