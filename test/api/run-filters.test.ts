import assert from 'node:assert/strict';
import { bulkRoutes } from '../../src/api/tasks/bulk.ts';
import { filterOf } from '../../src/api/tasks/list.ts';
import { eventParameters, listParameters } from '../../src/api/tasks/schema.ts';
import { preferredWait } from '../../src/api/tasks/wait.ts';
import type { Dependencies } from '../../src/api/dependencies.ts';
import type { Caller } from '../../src/api/http/caller.ts';
import { MAX_ACTOR_LENGTH, MAX_METADATA_FILTERS, MAX_SEARCH_LENGTH } from '../../src/domain/common/limits.ts';
import { runSearchOf } from '../../src/domain/tasks/run-search.ts';
import { foundIn } from '../domain/found-problems.ts';
import { useInstallation } from '../support/installation.ts';

describe('the filter of a list of runs', () => {
  const fresh = useInstallation();
  const OTHER = '01980000-0000-7000-8000-000000000001';
  const keyOf = () => ({ kind: 'key', actor: 'key:1', ...places() }) as unknown as Caller;
  const places = () => {
    const { workspace_id: workspaceId, project_id: projectId } = fresh.installation;
    return { workspaceId, projectId };
  };
  const person = () =>
    ({ ...keyOf(), kind: 'person', actor: 'user:1', projectId: null }) as unknown as Caller;
  const filter = async (query: Record<string, string | string[]>, caller = keyOf()) =>
    await filterOf({ database: fresh.database } as Dependencies, caller, listParameters.parse(query));

  it('has a part for each parameter', async () => {
    const { project_id } = fresh.installation;
    assert.deepEqual(await filter({}), { projectIds: [project_id], metadata: {} });
    const search = runSearchOf('coupon');
    assert.deepEqual(
      await filter({
        q: 'coupon',
        state: 'failed,paused',
        task_type: ['bug', 'spec'],
        errors: 'step_failed',
        created_after: '2026-01-01T00:00:00Z',
        created_before: '2026-02-01T00:00:00Z',
        created_by: 'me',
        needs_me: 'true',
        project_id,
        'metadata.a.b': '7',
        'metadata.metadata.': '',
      }),
      {
        projectIds: [project_id],
        states: ['failed', 'paused'],
        taskTypes: ['bug', 'spec'],
        errorCodes: ['step_failed'],
        createdAfter: new Date('2026-01-01T00:00:00Z'),
        createdBefore: new Date('2026-02-01T00:00:00Z'),
        createdBy: ['key:1'],
        needsPerson: true,
        search,
        metadata: { 'a.b': '7', 'metadata.': '' },
      },
    );
  });

  it('names the submitters with a label, also those that do not exist any more', async () => {
    const [key] = await fresh.database.em
      .fork()
      .execute<{ id: string; prefix: string }[]>('select id, prefix from api_keys');
    assert.ok(key);
    const label = `key:${key.prefix}`;
    assert.deepEqual((await filter({ created_by: label })).createdBy, [label, `key:${key.id}`]);
    assert.deepEqual((await filter({ created_by: 'key:gone' })).createdBy, ['key:gone']);
    assert.deepEqual((await filter({ created_by: 'me' }, person())).createdBy, ['user:1']);
  });

  it('has all projects of the workspace for a person, and the one of a key', async () => {
    const { workspace_id, project_id } = fresh.installation;
    await fresh.database.em
      .fork()
      .execute(
        `insert into projects (id, workspace_id, name, key, created_at) values ('${OTHER}', '${workspace_id}', 'Other', 'OTHER', now())`,
      );
    assert.deepEqual((await filter({})).projectIds, [project_id]);
    const all = (await filter({}, person())).projectIds;
    assert.deepEqual(all.toSorted(), [project_id, OTHER].toSorted());
    assert.deepEqual((await filter({ project_id: OTHER }, person())).projectIds, [OTHER]);
    await assert.rejects(filter({ project_id: OTHER }), { code: 'project_not_allowed' });
    const unknown = { project_id: '01980000-0000-7000-8000-000000000002' };
    await assert.rejects(filter(unknown, person()), { code: 'project_not_allowed' });
  });

  it('has limits', () => {
    const found = (query: Record<string, unknown>) => foundIn(listParameters, query);
    const fields = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`metadata.f${index}`, '']));
    for (const query of [
      { q: 'x'.repeat(MAX_SEARCH_LENGTH), created_by: 'x'.repeat(MAX_ACTOR_LENGTH) },
      fields(MAX_METADATA_FILTERS),
      { 'metadata.\n': 'x' },
    ])
      assert.deepEqual(found(query), []);
    assert.deepEqual(found({ q: 'x'.repeat(MAX_SEARCH_LENGTH + 1) }), ['/q too_long']);
    assert.deepEqual(found({ q: '' }), ['/q too_short']);
    assert.deepEqual(found({ created_by: 'x'.repeat(MAX_ACTOR_LENGTH + 1) }), ['/created_by too_long']);
    assert.deepEqual(found({ needs_me: 'false' }), ['/needs_me not_allowed']);
    assert.deepEqual(found({ metadata: 'x', 'metadata.': 'x' }), [
      '/metadata unknown_member',
      '/metadata. unknown_member',
    ]);
    assert.deepEqual(found({ ...fields(1), 'metadata.a': ['x', 'y'] }), ['/metadata.a wrong_type']);
    assert.deepEqual(found({ 'metadata.a': '\u0000' }), ['/metadata.a not_storable']);
    const last = `/metadata.f${MAX_METADATA_FILTERS}`;
    assert.deepEqual(found(fields(MAX_METADATA_FILTERS + 2)), [`${last} not_allowed`]);
    const events = (query: object) => foundIn(eventParameters, query);
    assert.deepEqual(events({ after: '0', limit: '1' }), []);
    assert.deepEqual(events({ after: '2147483647', limit: '500' }), []);
    assert.deepEqual(events({ after: '2147483648', limit: '501' }), [
      '/after not_allowed',
      '/limit not_allowed',
    ]);
    assert.deepEqual(events({ limit: '0' }), ['/limit not_allowed']);
  });
});

describe('a request that changes all matching runs', () => {
  it('costs as much as 50 others', () => {
    const routes = bulkRoutes({} as Dependencies);
    assert.deepEqual(
      routes.map(({ path, cost }) => [path, cost?.({})]),
      [
        ['/api/v1/tasks/cancel', 50],
        ['/api/v1/tasks/rerun', 50],
      ],
    );
  });
});

describe('the preferred wait of a request', () => {
  const CASES: [prefer: string | undefined, seconds: number | null, state?: string][] = [
    [undefined, null],
    ['', null],
    ['wait=0', 0],
    ['wait=59', 59],
    ['wait=60', 60],
    ['wait=61', 60],
    ['wait=999999', 60],
    ['wait=1000000', null],
    ['respond-async, Wait = "5" ; x=y', 5],
    ['wait=5;x, wait=6', 5],
    ['wait=5; state=executing', 5, 'executing'],
    ['wait=5;x=y; State = "paused" ;z', 5, 'paused'],
    ['wait=5; state=, wait=6; state=paused', 5],
    ['wait=5; laststate=paused', 5],
    ['wait=x, wait=6', 6],
    ['wait=-1', null],
    ['wait=1.5', null],
    ['wait', null],
    ['await=5', null],
  ];
  for (const [prefer, seconds, state = null] of CASES) {
    it(`is ${seconds} for ${prefer}`, () =>
      assert.deepEqual(preferredWait(prefer), seconds === null ? null : { seconds, state }));
  }
});
