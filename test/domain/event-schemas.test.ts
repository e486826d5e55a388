import assert from 'node:assert/strict';
import { EVENT_KINDS, isEventKind, ABOUT_EVENTS } from '../../src/domain/webhooks/event-kinds.ts';
import { MAX_OBJECT_ID_LENGTH } from '../../src/domain/common/limits.ts';
import { EVENT_SCHEMAS, payloadSchema } from '../../src/domain/webhooks/event-schemas.ts';
import { foundIn } from './found-problems.ts';

type Data = Record<string, unknown>;

const TIMES = ['2026-01-31T12:00:00Z', '2026-01-31T12:00:00.5+02:00'];
/** Fields of objects in `data`, with a right and a wrong value. */
const TEXT = { right: ['', 'x'], wrong: 7 };
const TEXT_OR_NULL = { right: [null, 'x'], wrong: 7 };
const TIME = { right: [null, ...TIMES], wrong: '2026-01-31T12:00:00' };
const DATE = { right: [null, '2026-01-31'], wrong: TIMES[0] };
const COUNT = { right: [null, 0, 14], wrong: 1.5 };
const PERSON = { right: [null, {}, { id: 'u', name: null, email: null, more: 1 }], wrong: { email: 7 } };
const PROJECT = { right: [null, {}, { id: 'p', key: 'K', name: 'N', more: 1 }], wrong: { key: null } };
const ISSUE = {
  key: TEXT,
  title: TEXT,
  type: TEXT_OR_NULL,
  status: TEXT_OR_NULL,
  priority: TEXT_OR_NULL,
  assignee: PERSON,
  project: PROJECT,
};

type Check = { right: unknown[]; wrong: unknown };
const FIELDS: Record<string, Record<string, Check>> = {
  issue: ISSUE,
  comment: { body: TEXT_OR_NULL, author: PERSON, created_at: TIME },
  sprint: {
    name: TEXT,
    goal: TEXT_OR_NULL,
    start_date: DATE,
    end_date: DATE,
    issues_count: COUNT,
    points: COUNT,
    completed_points: COUNT,
    completed_issues_count: COUNT,
  },
  project: { key: TEXT, name: TEXT, description: TEXT_OR_NULL, lead: PERSON },
  user: { name: TEXT, email: TEXT_OR_NULL, role: TEXT_OR_NULL },
  deployment: {
    environment: TEXT_OR_NULL,
    version: TEXT_OR_NULL,
    status: TEXT_OR_NULL,
    url: TEXT_OR_NULL,
    started_at: TIME,
    completed_at: TIME,
  },
};

describe('the data of an event', () => {
  for (const kind of EVENT_KINDS) {
    const { object } = ABOUT_EVENTS[kind];
    const found = (data: Data) => foundIn(EVENT_SCHEMAS[kind], { [object]: { id: '1' }, ...data });

    it(`of ${kind} requires the ${object} with its id`, () => {
      assert.deepEqual(found({}), []);
      assert.deepEqual(found({ [object]: undefined }), [`/${object} required`]);
      assert.deepEqual(found({ [object]: null }), [`/${object} wrong_type`]);
      assert.deepEqual(found({ [object]: {} }), [`/${object}/id required`]);
      assert.deepEqual(found({ [object]: { id: '' } }), [`/${object}/id too_short`]);
      assert.deepEqual(found({ [object]: { id: 7 } }), [`/${object}/id wrong_type`]);
    });

    it(`of ${kind} may have other fields`, () => {
      assert.deepEqual(found({ other: 1, [object]: { id: '1', other: [] } }), []);
    });

    it(`of ${kind} has an actor with an id and a name, or none`, () => {
      for (const actor of [null, undefined, {}, { id: null, name: null }, { id: 'u', name: 'Ada', more: 1 }])
        assert.deepEqual(found({ actor }), []);
      assert.deepEqual(found({ actor: 'Ada' }), ['/actor wrong_type']);
      assert.deepEqual(found({ actor: { id: 7 } }), ['/actor/id wrong_type']);
      assert.deepEqual(found({ actor: { name: 7 } }), ['/actor/name wrong_type']);
    });

    for (const [field, { right, wrong }] of Object.entries(FIELDS[object] ?? {})) {
      it(`of ${kind} checks ${object}.${field}, if present`, () => {
        for (const value of right) assert.deepEqual(found({ [object]: { id: '1', [field]: value } }), []);
        const problems = found({ [object]: { id: '1', [field]: wrong } });
        assert.equal(problems.length, 1);
        assert.match(problems.join(), new RegExp(`^/${object}/${field}`));
      });
    }
  }

  it('of a comment has the issue, which needs no id', () => {
    const found = (issue: unknown) =>
      foundIn(EVENT_SCHEMAS['comment.created'], { comment: { id: '1' }, issue });
    for (const issue of [undefined, null, {}, { id: 'i', more: 1 }]) assert.deepEqual(found(issue), []);
    assert.deepEqual(found({ id: '' }), ['/issue/id too_short']);
    assert.deepEqual(found({ status: 7 }), ['/issue/status wrong_type']);
  });

  for (const kind of ['sprint.started', 'sprint.completed', 'deployment.completed'] as const) {
    it(`of ${kind} may have a project`, () => {
      const { object } = ABOUT_EVENTS[kind];
      const found = (project: unknown) => foundIn(EVENT_SCHEMAS[kind], { [object]: { id: '1' }, project });
      for (const project of PROJECT.right) assert.deepEqual(found(project), []);
      assert.deepEqual(found({ id: '' }), ['/project/id too_short']);
      assert.deepEqual(found({ name: 7 }), ['/project/name wrong_type']);
    });
  }

  for (const kind of ['issue.updated', 'issue.moved'] as const) {
    it(`of ${kind} may have changes, each with a field`, () => {
      const found = (changes: unknown) => foundIn(EVENT_SCHEMAS[kind], { issue: { id: '1' }, changes });
      for (const changes of [
        undefined,
        null,
        [],
        [{ field: 'status' }],
        [{ field: 'x', old_value: [], new_value: {}, more: 1 }],
      ])
        assert.deepEqual(found(changes), []);
      assert.deepEqual(found({}), ['/changes wrong_type']);
      assert.deepEqual(found([{ new_value: 1 }]), ['/changes/0/field required']);
      assert.deepEqual(found([{ field: '' }]), ['/changes/0/field too_short']);
    });
  }

  it('has ids of limited length', () => {
    const found = (id: string) => foundIn(EVENT_SCHEMAS['issue.created'], { issue: { id } });
    assert.deepEqual(found('x'.repeat(MAX_OBJECT_ID_LENGTH)), []);
    assert.deepEqual(found('x'.repeat(MAX_OBJECT_ID_LENGTH + 1)), ['/issue/id too_long']);
  });
});

describe('the JSON Schema of a payload', () => {
  it('requires id, event, timestamp, workspace and data', () => {
    const schema = payloadSchema('issue.created') as {
      required: string[];
      properties: Record<string, { const?: string; format?: string; required?: string[] }>;
    };
    assert.deepEqual(schema.required, ['id', 'event', 'timestamp', 'workspace', 'data']);
    const { event, timestamp, workspace, data } = schema.properties;
    assert.deepEqual([event?.const, timestamp?.format], ['issue.created', 'date-time']);
    assert.deepEqual([workspace?.required, data?.required], [['id', 'name'], ['issue']]);
  });
});

describe('an event kind', () => {
  it('is one of the known names', () => {
    for (const kind of EVENT_KINDS) assert.ok(isEventKind(kind));
    for (const other of ['issue', 'Issue.created', '', null, 1]) assert.ok(!isEventKind(other));
  });
});
