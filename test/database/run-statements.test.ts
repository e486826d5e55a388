import assert from 'node:assert/strict';
import { createHash, randomUUIDv7 } from 'node:crypto';
import { MAX_ARTIFACTS, MAX_LISTED_ATTEMPTS, MAX_LISTED_RERUNS } from '../../src/domain/common/limits.ts';
import {
  findArtifact,
  listArtifacts,
  storeArtifact,
  type NewArtifact,
} from '../../src/database/tasks/artifacts.ts';
import {
  beginAttempt,
  endAttempt,
  findBegunAttempt,
  findPendingCallback,
  giveUpCallback,
  listCallbackAttempts,
  listCallbackRetries,
  requestCallbackRetry,
  withdrawAttempt,
} from '../../src/database/tasks/callbacks.ts';
import {
  findFeedsAhead,
  findLastProgress,
  listEventsAfter,
  listEventsAfterPositions,
  listLastEventsOf,
} from '../../src/database/tasks/feed.ts';
import {
  beginPush,
  claimDuePushes,
  deletePushConfig,
  endPush,
  extendPush,
  findLastPushAttempt,
  listPushAttempts,
  listPushConfigs,
  listPushedEvents,
  releasePush,
  savePushConfig,
  settlePush,
} from '../../src/database/tasks/push.ts';
import { findPlan, insertRerun, listReruns } from '../../src/database/tasks/reruns.ts';
import { createRunNotices } from '../../src/database/tasks/run-notices.ts';
import {
  findTaskTexts,
  listStepResults,
  mayContinue,
  storeStepResult,
} from '../../src/database/tasks/step-results.ts';
import {
  countRuns,
  eraseRun,
  findEndedRuns,
  findOpenRuns,
  findRunStatus,
  findUnrecordedPauses,
  hasOpenRuns,
  listEnginePausedRuns,
  listOpenRuns,
  listRunIds,
  listRuns,
  listRunsAwaitingCallback,
  listUnstartedRuns,
  markEnginePauseSignalled,
  recordEnginePause,
  removeOldRuns,
  type RunFilter,
  type TaskRunRow,
} from '../../src/database/tasks/task-runs.ts';
import { useInstallation } from '../support/installation.ts';
import { newRunRow } from '../support/run-row.ts';
import { idAt, storedRows } from '../support/stored-rows.ts';

const NOW = new Date('2026-03-01T12:00:00Z');
const at = (seconds: number) => new Date(NOW.getTime() + seconds * 1_000);
/** The result of a failed attempt of a callback or a push notification, with another value in each column. */
const FAILED = {
  response_status: 503,
  response_headers: { 'x-response': 'another header' },
  response_body: 'a body',
  failure: 'status',
  message: 'a message',
  address: '192.0.2.1',
  duration_ms: 34,
  completed_at: at(3),
  next_attempt_at: at(4),
  reconnected: true,
};
const URL = 'https://receiver.example.com/';

describe('the statements about runs', () => {
  const fresh = useInstallation();
  const rows = storedRows(fresh);
  beforeEach(() => rows.clear());

  const ended = { state: 'completed', completed_at: at(-60.001) };
  const paused = { state: 'paused', paused_from: 'executing' };
  const runRow = async (id: string) => {
    const [row] = await rows.execute<Record<string, unknown>>('select * from task_runs where id = ?', [id]);
    return row ?? assert.fail('no run');
  };
  /** Stores runs, and returns a function that translates their ids to names. */
  async function named(runs: Record<string, object>) {
    const names = new Map<string, string>();
    for (const [name, values] of Object.entries(runs)) names.set(await rows.run({ ...values }), name);
    const idOf = (name: string) =>
      [...names].find(([, one]) => one === name)?.[0] ?? assert.fail(`unknown name ${name}`);
    return { ids: [...names.keys()], nameOf: (id: string) => names.get(id) ?? assert.fail(id), idOf };
  }

  describe('for the reconciler', () => {
    it('list runs that were stored but not started, and open runs', async () => {
      const old = { created_at: at(-3.001) };
      const { ids, nameOf, idOf } = await named({
        second: { ...old, id: idAt(NOW, 1) },
        first: { created_at: at(-9), id: idAt(NOW, 2) },
        'new': { created_at: at(-3), id: idAt(NOW, 3) },
        'with an event': { ...old, last_seq: 1, id: idAt(NOW, 4) },
        planning: { ...old, state: 'planning', id: idAt(NOW, 5) },
        ended: { ...old, ...ended, id: idAt(NOW, 6) },
      });
      const unstarted = async (limit: number) =>
        (await listUnstartedRuns(fresh.database, at(-3), limit)).map(({ id }) => nameOf(id));
      assert.deepEqual(await unstarted(10), ['first', 'second']);
      assert.deepEqual(await unstarted(1), ['first']);
      const open = async (after: string | null, limit: number) =>
        (await listOpenRuns(fresh.database, at(-3), { after, limit })).map(nameOf);
      assert.deepEqual(await open(null, 10), ['second', 'first', 'with an event', 'planning']);
      assert.deepEqual(await open(null, 2), ['second', 'first']);
      assert.deepEqual(await open(idOf('first'), 10), ['with an event', 'planning']);
      assert.deepEqual((await findOpenRuns(fresh.database, ids)).map(nameOf).toSorted(), [
        'first',
        'new',
        'planning',
        'second',
        'with an event',
      ]);
      assert.deepEqual(await findOpenRuns(fresh.database, [idOf('ended')]), []);
      assert.equal(await hasOpenRuns(fresh.database), true);
      await rows.execute('delete from task_runs where completed_at is null');
      assert.equal(await hasOpenRuns(fresh.database), false);
    });

    it('list ended runs by the time of their end, and those with a pending callback', async () => {
      const pending = { callback_status: 'pending' };
      const { ids, nameOf } = await named({
        second: { ...ended, ...pending },
        first: { ...ended, ...pending, completed_at: at(-90) },
        'just now': { ...ended, ...pending, completed_at: at(-60) },
        delivered: { ...ended, callback_status: 'delivered' },
        open: pending,
      });
      const waiting = async (limit: number) =>
        (await listRunsAwaitingCallback(fresh.database, at(-60), limit)).map(nameOf);
      assert.deepEqual(await waiting(10), ['first', 'second']);
      assert.deepEqual(await waiting(1), ['first']);
      const found = await findEndedRuns(fresh.database, ids, at(-60));
      assert.deepEqual(found.map(nameOf).toSorted(), ['delivered', 'first', 'second']);
      assert.equal(await removeOldRuns(fresh.database, at(-60), 1), 1);
      const remaining = async () =>
        (await rows.execute<{ id: string }>('select id from task_runs order by id')).map(({ id }) =>
          nameOf(id),
        );
      assert.deepEqual(await remaining(), ['second', 'just now', 'delivered', 'open'], 'the oldest first');
      assert.equal(await removeOldRuns(fresh.database, at(-60), 10), 2);
      assert.deepEqual(await remaining(), ['just now', 'open']);
    });

    it('list pauses in the Web UI until they are signalled, and record them for paused runs only', async () => {
      const held = { ...paused, engine_paused_at: at(1), paused_by: 'temporal: ada' };
      const { ids, nameOf, idOf } = await named({
        held,
        signalled: { ...held, engine_pause_signalled: true },
        'executing again': { state: 'executing', engine_paused_at: at(1) },
        'paused by Baton': paused,
        executing: { state: 'executing' },
        ended: { ...ended, engine_paused_at: at(1) },
      });
      const unrecorded = await findUnrecordedPauses(fresh.database, ids);
      assert.deepEqual(unrecorded.map(nameOf).toSorted(), [
        'executing',
        'executing again',
        'paused by Baton',
      ]);
      assert.deepEqual(await findUnrecordedPauses(fresh.database, [idOf('held')]), []);
      const list = async (isSignalled: boolean) =>
        (await listEnginePausedRuns(fresh.database, { signalled: isSignalled })).map(({ id }) => nameOf(id));
      assert.deepEqual((await list(false)).toSorted(), ['executing again', 'held']);
      assert.deepEqual(await list(true), ['signalled']);
      const [row] = await listEnginePausedRuns(fresh.database, { signalled: true });
      assert.deepEqual([row?.engine_paused_at, row?.paused_by], [at(1), 'temporal: ada']);

      const pauseOf = async (name: string) => {
        const { engine_paused_at, engine_pause_signalled } = await runRow(idOf(name));
        return [engine_paused_at, engine_pause_signalled];
      };
      await markEnginePauseSignalled(fresh.database, idOf('held'), at(2));
      assert.deepEqual(await pauseOf('held'), [at(1), false], 'another pause was signalled');
      await markEnginePauseSignalled(fresh.database, idOf('held'), at(1));
      assert.deepEqual(await pauseOf('held'), [at(1), true]);
      for (const name of ['signalled', 'executing', 'paused by Baton'])
        await recordEnginePause(fresh.database, idOf(name), at(3));
      assert.deepEqual(await pauseOf('signalled'), [at(3), false]);
      assert.deepEqual(await pauseOf('paused by Baton'), [at(3), false]);
      assert.deepEqual(await pauseOf('executing'), [null, false]);
      assert.deepEqual(await pauseOf('held'), [at(1), true]);
    });
  });

  describe('for lists', () => {
    it('find the runs that meet every condition', async () => {
      const { workspaceId, projectId } = await rows.workspace();
      const escalation = JSON.stringify({ reason: 'a reason' });
      const { nameOf, idOf } = await named({
        plain: { id: idAt(at(1)), created_at: at(1), updated_at: at(11) },
        bug: { id: idAt(at(2)), created_at: at(2), updated_at: at(12), task_type: 'bug', state: 'planning' },
        'by another': { id: idAt(at(3)), created_at: at(3), updated_at: at(13), created_by: 'user:ada' },
        failed: {
          id: idAt(at(4)),
          created_at: at(4),
          updated_at: at(99),
          state: 'failed',
          completed_at: at(14),
          errors: JSON.stringify([{ code: 'step_failed' }, { code: 'timed_out' }]),
        },
        asking: {
          ...paused,
          id: idAt(at(5)),
          created_at: at(5),
          updated_at: at(15),
          question: '{"text":"May I?"}',
        },
        'asked before': {
          id: idAt(at(6)),
          created_at: at(6),
          updated_at: at(5),
          question: '{}',
          state: 'executing',
        },
        escalated: {
          id: idAt(at(7)),
          created_at: at(7),
          updated_at: at(5),
          escalation,
          state: 'escalated',
          completed_at: at(5),
        },
        'taken over': {
          id: idAt(at(8)),
          created_at: at(8),
          updated_at: at(5),
          escalation,
          state: 'escalated',
          completed_at: at(5),
          metadata: '{"issue":5,"open":true,"none":null,"text":"5 items","deep":{"a":1}}',
        },
        'of another project': { workspace_id: workspaceId, project_id: projectId },
      });
      await rows.execute('update task_runs set rerun_of = ? where id = ?', [
        idOf('taken over'),
        idOf('of another project'),
      ]);
      const filterOf = (filter: object) => ({ projectIds: [fresh.installation.project_id], ...filter });
      const finds = async (filter: Omit<Partial<RunFilter>, 'limit'>, expected: readonly string[]) => {
        const { rows: found } = await listRuns(fresh.database, { ...filterOf(filter), limit: 20 });
        const names = found.map(({ id }) => nameOf(id));
        assert.deepEqual(names, expected, JSON.stringify(filter));
        const { cursor, ...others } = filter;
        if (cursor === undefined) {
          assert.equal(await countRuns(fresh.database, filterOf(others)), expected.length);
          const ids = await listRunIds(fresh.database, filterOf(others), 2);
          assert.deepEqual(ids.map(nameOf), expected.slice(0, 2));
        }
      };
      const all = [
        'taken over',
        'escalated',
        'asked before',
        'asking',
        'failed',
        'by another',
        'bug',
        'plain',
      ];
      await finds({}, all);
      await finds({ projectIds: [projectId] }, ['of another project']);
      await finds({ projectIds: [] }, []);
      await finds({ cursor: idOf('failed') }, all.slice(5));
      await finds({ states: ['planning'] }, ['bug']);
      await finds({ states: ['failed', 'paused'] }, ['asking', 'failed']);
      await finds({ taskTypes: ['bug'] }, ['bug']);
      await finds({ errorCodes: ['timed_out' as never, 'unknown' as never] }, ['failed']);
      await finds({ createdAfter: at(7) }, all.slice(0, 2));
      await finds({ createdBefore: at(2) }, ['plain']);
      await finds({ createdBy: ['user:ada', 'user:unknown'] }, ['by another']);
      await finds({ asking: true }, ['asked before', 'asking']);
      await finds({ asking: false, createdBefore: at(7) }, ['failed', 'by another', 'bug', 'plain']);
      await finds({ changedAfter: at(14) }, ['asking', 'failed']);
      await finds({ needsPerson: true }, ['escalated', 'asking']);
      for (const metadata of [{ issue: '5' }, { open: 'true' }, { none: 'null' }, { text: '5 items' }])
        await finds({ metadata }, ['taken over']);
      for (const metadata of [{ issue: '6' }, { issue: '05' }, { text: '5' }, { open: 'yes' }, { deep: '1' }])
        await finds({ metadata }, []);

      const page = await listRuns(fresh.database, { ...filterOf({}), limit: 3 });
      assert.deepEqual([page.rows.length, page.nextCursor], [3, idOf('asked before')]);
      const last = await listRuns(fresh.database, { ...filterOf({}), limit: 8 });
      assert.deepEqual([last.rows.length, last.nextCursor], [8, null]);
    });

    it('do not read the long texts of listed runs', async () => {
      await rows.run({ description: 'long', metadata: '{"issue":5}' });
      const inProject = { projectIds: [fresh.installation.project_id], limit: 2 };
      const { rows: listed } = await listRuns(fresh.database, inProject);
      const { rows: found } = await listRuns(fresh.database, { ...inProject, metadata: { issue: '5' } });
      assert.deepEqual([listed.length, found.length], [1, 1]);
      for (const row of [...listed, ...found]) {
        const { description, output, callback_body, callback_secret, metadata } = row as Partial<TaskRunRow>;
        assert.deepEqual([description, output, callback_body, callback_secret], Array(4).fill(undefined));
        assert.equal(metadata, '{"issue":5}');
      }
    });

    it('return what requests that follow a run compare', async () => {
      const question = { step: 'design', agent: 'architect', text: 'Why?', at: at(1).toISOString() };
      const run = await rows.run({
        state: 'paused',
        paused_from: 'executing',
        question: JSON.stringify(question),
      });
      assert.deepEqual(
        { ...(await findRunStatus(fresh.database, run)) },
        {
          id: run,
          state: 'paused',
          question,
          callback_status: 'none',
          callback_retry_id: null,
        },
      );
      assert.equal(await findRunStatus(fresh.database, randomUUIDv7()), null);
    });

    it('return at most the newest 100 reruns', async () => {
      const first = await rows.run();
      const ids: string[] = [];
      for (let number = 0; number <= MAX_LISTED_RERUNS; number += 1)
        ids.push(await rows.run({ rerun_of: first, id: idAt(NOW, number) }));
      const listed = await listReruns(fresh.database, first);
      assert.deepEqual(
        listed.map(({ execution_id: id }) => id),
        ids.slice(1),
      );
    });

    it('return the reruns of a run, the oldest first, and its plan', async () => {
      const first = await rows.run({ plan: '{"steps":[]}' });
      const rerun = { rerun_of: first, created_at: at(1) };
      const second = await rows.run({ ...rerun, id: idAt(NOW, 2), rerun_from: 'design', created_at: at(2) });
      const third = await rows.run({ ...rerun, id: idAt(NOW, 1), state: 'planning' });
      await rows.run({ rerun_of: second });
      assert.deepEqual(await listReruns(fresh.database, first), [
        { execution_id: third, state: 'planning', rerun_from: null, created_at: at(1) },
        { execution_id: second, state: 'initializing', rerun_from: 'design', created_at: at(2) },
      ]);
      assert.deepEqual(await findPlan(fresh.database, first), { steps: [] });
      assert.equal(await findPlan(fresh.database, second), null);
    });
  });

  it('erase an ended run with its notices only, and write an audit entry', async () => {
    const [run, other, open] = [await rows.run(ended), await rows.run(ended), await rows.run()];
    const { workspace_id: workspaceId } = fresh.installation;
    const { userId } = await rows.workspace();
    const notice = async (workspace_id: string, subject: string) => {
      const values = { id: randomUUIDv7(), workspace_id, user_id: userId, kind: 'task.asked', subject };
      await rows.insert('notifications', { ...values, created_at: NOW });
    };
    await notice(workspaceId, `task:${run}`);
    await notice(workspaceId, `task:${other}`);
    const erase = async (id: string) =>
      await eraseRun(fresh.database, { id, workspaceId, actor: 'user:ada', now: at(1) });
    assert.deepEqual([await erase(open), await erase(randomUUIDv7())], [false, false]);
    assert.deepEqual(await rows.execute('select from audit_log'), []);
    assert.deepEqual([await erase(run), await erase(run)], [true, false]);
    const left = await rows.execute<{ id: string }>('select id from task_runs order by id');
    assert.deepEqual(
      left.map(({ id }) => id),
      [other, open],
    );
    assert.deepEqual(await rows.execute('select subject from notifications'), [{ subject: `task:${other}` }]);
    assert.deepEqual(
      await rows.execute('select workspace_id, actor, action, subject, detail, at from audit_log'),
      [
        {
          workspace_id: workspaceId,
          actor: 'user:ada',
          action: 'task.erased',
          subject: `task:${run}`,
          detail: {},
          at: at(1),
        },
      ],
    );
  });

  it('read the events of a feed', async () => {
    const [run, other, quiet] = [
      await rows.run({ last_seq: 4 }),
      await rows.run({ last_seq: 1 }),
      await rows.run(),
    ];
    const add = (seq: number, type: string) =>
      rows.taskEvent(run, seq, { type, at: at(seq), data: `{"n":${seq}}`, key: `progress:${seq * 5}` });
    for (const [index, type] of ['state.changed', 'agent.message', 'agent.message', 'run.ended'].entries())
      await add(index + 1, type);
    await rows.taskEvent(other, 1, { key: 'progress:99' });
    const seqs = (events: readonly { seq: number }[]) => events.map(({ seq }) => seq);
    assert.deepEqual((await listEventsAfter(fresh.database, run, 1, 2))[0], {
      seq: 2,
      type: 'agent.message',
      execution_id: run,
      at: at(2).toISOString(),
      data: { n: 2 },
    });
    assert.deepEqual(seqs(await listEventsAfter(fresh.database, run, 1, 2)), [2, 3]);
    const lastOf = async (last: number, limit: number) =>
      seqs(
        await listLastEventsOf(fresh.database, run, { types: ['agent.message', 'run.ended'], last, limit }),
      );
    assert.deepEqual(
      [await lastOf(4, 2), await lastOf(3, 2), await lastOf(4, 9)],
      [
        [3, 4],
        [2, 3],
        [2, 3, 4],
      ],
    );
    assert.deepEqual(await lastOf(4, 0), []);
    const positions = [
      { executionId: other, after: 1 },
      { executionId: run, after: 2 },
      { executionId: quiet, after: 0 },
      { executionId: run, after: 0 },
    ];
    const found = await listEventsAfterPositions(fresh.database, positions, 2);
    assert.deepEqual(
      found.map((events) => events.map(({ event }) => [event.execution_id, event.seq])),
      [
        [],
        [
          [run, 3],
          [run, 4],
        ],
        [],
        [
          [run, 1],
          [run, 2],
        ],
      ],
    );
    assert.deepEqual(found[1]?.[0]?.event, (await listEventsAfter(fresh.database, run, 2, 1))[0]);
    const ahead = async (after: number) =>
      await findFeedsAhead(fresh.database, [
        { executionId: run, after },
        { executionId: other, after: 1 },
        { executionId: quiet, after: 0 },
      ]);
    assert.deepEqual([await ahead(3), await ahead(4)], [new Set([run]), new Set()]);
    assert.equal(await findLastProgress(fresh.database, run, 'progress:'), 20);
    assert.equal(await findLastProgress(fresh.database, quiet, 'progress:'), 0);
  });

  it('create notices for the members of the workspace who may decide', async () => {
    const { workspace_id, project_id } = fresh.installation;
    await rows.workspace();
    const users = await rows.execute<{ user_id: string }>(
      'select user_id from members where workspace_id = ?',
      [workspace_id],
    );
    const expected = users.map(({ user_id }) => user_id);
    for (const role of ['admin', 'member', 'viewer']) {
      const id = randomUUIDv7();
      await rows.insert('users', { id, email: `${id}@example.com`, name: role, created_at: NOW });
      await rows.insert('members', { workspace_id, user_id: id, role, created_at: NOW });
      if (role !== 'viewer') expected.push(id);
    }
    const [project] = await rows.execute<{ name: string }>('select name from projects where id = ?', [
      project_id,
    ]);
    const escalation = { reason: 'a reason', step: 'design', agent: 'ada', at: at(1).toISOString() };
    const question = { text: 'May I?', step: 'build', agent: 'bob', at: at(2).toISOString(), id: 'q-7' };
    const run = await rows.run({
      title: 'The title',
      escalation: JSON.stringify(escalation),
      question: JSON.stringify(question),
    });
    const quiet = await rows.run();
    for (const kind of ['task.escalated', 'task.asked'] as const) {
      for (const id of [run, run, quiet]) await createRunNotices(fresh.database, id, kind);
    }
    const notices = async (kind: string) =>
      await rows.execute<{ user_id: string }>(
        `select workspace_id, user_id, kind, subject, detail, created_at from notifications
         where kind = ? order by user_id`,
        [kind],
      );
    const common = { workspace_id, user_id: expected.toSorted()[0], subject: `task:${run}` };
    const about = { execution_id: run, title: 'The title', project: project?.name };
    const [escalated, asked] = [await notices('task.escalated'), await notices('task.asked')];
    for (const list of [escalated, asked])
      assert.deepEqual(
        list.map(({ user_id }) => user_id),
        expected.toSorted(),
      );
    const { at: escalatedAt, ...why } = escalation;
    assert.deepEqual(escalated[0], {
      ...common,
      kind: 'task.escalated',
      detail: { ...about, ...why, escalated_at: escalatedAt },
      created_at: at(1),
    });
    const { step, agent } = question;
    assert.deepEqual(asked[0], {
      ...common,
      kind: 'task.asked',
      detail: { ...about, question_id: 'q-7', question: 'May I?', step, agent, asked_at: question.at },
      created_at: at(2),
    });
  });

  describe('for agents', () => {
    const artifact = (
      executionId: string,
      name: string,
      members: Partial<NewArtifact> = {},
    ): NewArtifact => ({
      executionId,
      name,
      step_id: idAt(NOW, 1),
      agent: 'ada',
      media_type: 'text/plain',
      content: Buffer.from('content'),
      size: 7,
      sha256: createHash('sha256').update('content').digest('hex'),
      created_at: at(1),
      ...members,
    });

    it('store documents up to the limit, and replace those of the same name', async () => {
      const [run, other, over] = [await rows.run(), await rows.run(), await rows.run(ended)];
      const store = async (given: NewArtifact) => await storeArtifact(fresh.database, given);
      assert.equal(await store(artifact(over, 'a')), 'ended');
      assert.equal(await store(artifact(randomUUIDv7(), 'a')), 'missing');
      assert.equal(await store(artifact(other, 'a')), 'kept');
      const changed = {
        step_id: idAt(NOW, 2),
        agent: 'bob',
        media_type: 'text/html',
        content: Buffer.from('other'),
        size: 5,
        sha256: 'ab',
        created_at: at(3),
      };
      assert.equal(await store(artifact(run, 'b')), 'kept');
      assert.equal(await store(artifact(run, 'a', { created_at: at(9) })), 'kept');
      assert.equal(await store(artifact(run, 'a', changed)), 'kept');
      assert.equal(await store(artifact(run, 'c', { created_at: at(3) })), 'kept');
      const list = await listArtifacts(fresh.database, run);
      assert.deepEqual(
        list.map(({ name }) => name),
        ['b', 'a', 'c'],
      );
      const { content, ...info } = changed;
      assert.deepEqual(list[1], { name: 'a', ...info });
      assert.deepEqual(await findArtifact(fresh.database, run, 'a'), {
        media_type: 'text/html',
        content,
        sha256: 'ab',
      });
      assert.equal(await findArtifact(fresh.database, other, 'b'), null);
      for (let number = 3; number < MAX_ARTIFACTS; number += 1)
        assert.equal(await store(artifact(run, `more-${number}`)), 'kept');
      assert.equal(await store(artifact(run, 'one more')), 'full');
      assert.equal(await store(artifact(run, 'b', { size: 6 })), 'kept');
    });

    it('copy the documents and results of kept steps to a rerun', async () => {
      const [from, other] = [await rows.run(ended), await rows.run(ended)];
      const insert = async (run: string, name: string, step: number) => {
        const { executionId: _, ...values } = artifact(run, name, { step_id: idAt(NOW, step) });
        await rows.insert('artifacts', { ...values, execution_id: run });
      };
      await insert(from, 'kept', 1);
      await insert(from, 'repeated', 2);
      await insert(other, 'foreign', 1);
      for (const step of ['design', 'build'])
        await storeStepResult(fresh.database, from, {
          step,
          agent: 'ada',
          text: `text of ${step}`,
          attempt: 3,
        });
      await storeStepResult(fresh.database, other, { step: 'design', agent: 'eve', text: '', attempt: 1 });
      await rows.execute('update step_results set written_at = ?', [at(5)]);
      const run = newRunRow(fresh.installation, { rerun_of: from, rerun_from: 'build' });
      const steps = [{ name: 'design', earlierId: idAt(NOW, 1), id: idAt(NOW, 7) }];
      await insertRerun(fresh.database, run, { from, steps });
      const { content: _, executionId: __, ...kept } = artifact(run.id, 'kept', { step_id: idAt(NOW, 7) });
      assert.deepEqual(await listArtifacts(fresh.database, run.id), [kept]);
      assert.deepEqual((await findArtifact(fresh.database, run.id, 'kept'))?.content, Buffer.from('content'));
      const results = await rows.execute(
        'select step, agent, attempt, text, written_at from step_results where execution_id = ?',
        [run.id],
      );
      assert.deepEqual(results, [
        { step: 'design', agent: 'ada', attempt: 0, text: 'text of design', written_at: at(5) },
      ]);
    });

    it('read the results of the named steps in the order they were written, and the texts of the task', async () => {
      const run = await rows.run({
        title: 'The title',
        description: 'A description',
        task_type: 'spec',
        metadata: '{"a":1}',
      });
      for (const [index, step] of ['c', 'a', 'b', 'd'].entries()) {
        await storeStepResult(fresh.database, run, { step, agent: `agent-${step}`, text: step, attempt: 1 });
        await rows.execute('update step_results set written_at = ? where step = ?', [at(index), step]);
      }
      assert.deepEqual(await listStepResults(fresh.database, run, ['a', 'b', 'c']), [
        { step: 'c', agent: 'agent-c', text: 'c' },
        { step: 'a', agent: 'agent-a', text: 'a' },
        { step: 'b', agent: 'agent-b', text: 'b' },
      ]);
      assert.deepEqual(await findTaskTexts(fresh.database, run), {
        title: 'The title',
        description: 'A description',
        task_type: 'spec',
        metadata: { a: 1 },
      });
      assert.equal(await findTaskTexts(fresh.database, randomUUIDv7()), null);
    });

    it('let them continue unless the run has ended, was erased, or is paused in Temporal', async () => {
      const may = async (id: string) => await mayContinue(fresh.database, id);
      assert.equal(await may(await rows.run()), 'yes');
      assert.equal(await may(await rows.run({ ...paused, engine_paused_at: NOW })), 'held');
      assert.equal(await may(await rows.run({ ...ended, engine_paused_at: NOW })), 'over');
      assert.equal(await may(randomUUIDv7()), 'over');
    });
  });

  describe('for callbacks', () => {
    const attemptOf = (executionId: string, id: string, attempted: number) => ({
      id,
      execution_id: executionId,
      url: `${URL}${attempted}`,
      request_headers: { 'x-request': 'a header' },
      request_body: `{"n":${attempted}}`,
      attempted_at: at(attempted),
    });
    const callback = { callback_url: URL, callback_body: '{"a":1}', callback_secret: 'sealed' };
    const pending = { ...ended, ...callback, callback_status: 'pending' };

    it('store an attempt with every field of its request and its response, and an event', async () => {
      const run = await rows.run({ ...pending, last_seq: 6, view_seq: 5 });
      const other = await rows.run({ ...pending, last_seq: 2 });
      const [id, foreign] = [idAt(NOW, 1), idAt(NOW, 2)];
      const begun = attemptOf(run, id, 1);
      await beginAttempt(fresh.database, { ...attemptOf(other, foreign, 2), retryId: null }, 0);
      assert.equal(await beginAttempt(fresh.database, { ...begun, retryId: null }, 1), null);
      assert.equal(await beginAttempt(fresh.database, { ...begun, retryId: null }, 0), 1);
      assert.equal(await findBegunAttempt(fresh.database, id), 1);
      const open = (await findPendingCallback(fresh.database, run))?.last;
      assert.deepEqual(open, { attemptedAt: at(1), endedAt: null, nextAttemptAt: null, message: null });
      const entry = {
        key: 'callback.attempted:1',
        type: 'callback.attempted' as const,
        at: at(5).toISOString(),
        data: { n: 1 },
      };
      const end = async () =>
        await endAttempt(fresh.database, { id, executionId: run, ended: FAILED, entry }, null);
      await endAttempt(fresh.database, { id, executionId: other, ended: FAILED, entry }, 'failed');
      assert.equal(await findBegunAttempt(fresh.database, id), 1, 'another run does not end it');
      await end();
      await end();
      const [row] = await listCallbackAttempts(fresh.database, run);
      assert.deepEqual({ ...row }, { ...begun, attempt: 1, trigger: 'automatic', ...FAILED });
      assert.equal(await findBegunAttempt(fresh.database, id), null);
      assert.equal((await listCallbackAttempts(fresh.database, other))[0]?.completed_at, null);
      assert.deepEqual(await listEventsAfter(fresh.database, run, 0, 10), [
        { seq: 7, execution_id: run, type: entry.type, at: entry.at, data: { n: 1 } },
      ]);
      const { last_seq, view_seq, callback_status } = await runRow(run);
      assert.deepEqual([last_seq, view_seq, callback_status], [7, 7, 'pending']);
      assert.deepEqual(await findPendingCallback(fresh.database, run), {
        id: run,
        retryId: null,
        state: 'completed',
        callback_secret: 'sealed',
        url: URL,
        body: '{"a":1}',
        completedAt: at(-60.001),
        attempts: 1,
        last: { attemptedAt: at(1), endedAt: at(3), nextAttemptAt: at(4), message: 'a message' },
      });
    });

    it('find no callback that cannot be sent, and no attempt to withdraw that has ended', async () => {
      const find = async (values: object, retryId: string | null = null) =>
        await findPendingCallback(fresh.database, await rows.run({ ...pending, ...values }), retryId);
      const retryId = randomUUIDv7();
      const failed = { callback_status: 'failed', callback_retry_id: retryId };
      assert.equal((await find({}))?.last, null);
      assert.equal((await find(failed, retryId))?.retryId, retryId);
      for (const [values, retry] of [
        [failed, null],
        [failed, randomUUIDv7()],
        [{ callback_status: 'delivered' }, null],
        [{ callback_url: null }, null],
        [{ callback_body: null }, null],
        [{ state: 'planning', completed_at: null }, null],
      ] as const)
        assert.equal(await find(values, retry), null, JSON.stringify(values));
      const [run, other] = [await rows.run(pending), await rows.run(pending)];
      const id = idAt(NOW, 1);
      await beginAttempt(fresh.database, { ...attemptOf(run, id, 1), retryId: null }, 0);
      await withdrawAttempt(fresh.database, { id, executionId: other });
      assert.equal(await findBegunAttempt(fresh.database, id), 1);
      await beginAttempt(fresh.database, { ...attemptOf(run, idAt(NOW, 2), 2), retryId: null }, 1);
      const closed = (await listCallbackAttempts(fresh.database, run))[0];
      assert.deepEqual(
        [closed?.failure, closed?.message, closed?.completed_at],
        ['interrupted', 'the result of this attempt could not be recorded', at(2)],
      );
      await withdrawAttempt(fresh.database, { id, executionId: run });
      assert.equal((await listCallbackAttempts(fresh.database, run)).length, 2);
    });

    it('give a callback up with an event and a time, and only the one that is awaited', async () => {
      const [run, other] = [
        await rows.run({ ...pending, last_seq: 3, view_seq: 2 }),
        await rows.run({ ...pending, last_seq: 3 }),
      ];
      for (const [index, one] of [run, other].entries())
        await beginAttempt(fresh.database, { ...attemptOf(one, idAt(NOW, index), 1), retryId: null }, 0);
      await giveUpCallback(fresh.database, run, at(9), randomUUIDv7());
      assert.equal((await runRow(run))['callback_status'], 'pending', 'another retry is given up');
      await giveUpCallback(fresh.database, run, at(9));
      await giveUpCallback(fresh.database, run, at(10));
      const message = 'the result of this attempt could not be recorded';
      assert.deepEqual(await listEventsAfter(fresh.database, run, 0, 9), [
        {
          seq: 4,
          execution_id: run,
          type: 'callback.attempted',
          at: at(9).toISOString(),
          data: {
            attempt: 1,
            trigger: 'automatic',
            outcome: 'failed',
            response_status: null,
            failure: 'interrupted',
            message,
            duration_ms: null,
            next_attempt_at: null,
          },
        },
      ]);
      const { last_seq, view_seq, callback_status } = await runRow(run);
      assert.deepEqual([last_seq, view_seq, callback_status], [4, 4, 'failed']);
      const [closed] = await listCallbackAttempts(fresh.database, run);
      assert.deepEqual(
        [closed?.failure, closed?.message, closed?.completed_at],
        ['interrupted', message, at(9)],
      );
      assert.equal((await listCallbackAttempts(fresh.database, other))[0]?.completed_at, null);
      assert.equal((await runRow(other))['callback_status'], 'pending');
    });

    it('request one retry of a failed callback with an audit entry, and list them in the order of requests', async () => {
      const { workspace_id: workspaceId } = fresh.installation;
      const failed = { ...ended, ...callback, callback_status: 'failed' };
      const request = async (executionId: string, number: number) =>
        await requestCallbackRetry(fresh.database, {
          executionId,
          retryId: idAt(NOW, number),
          workspaceId,
          actor: 'user:ada',
          now: at(1),
        });
      const [one, two, done] = [
        await rows.run(failed),
        await rows.run(failed),
        await rows.run({ ...failed, callback_status: 'delivered' }),
      ];
      assert.deepEqual([await request(one, 2), await request(two, 1)], [true, true]);
      assert.deepEqual([await request(one, 3), await request(done, 4)], [false, false]);
      assert.deepEqual(await listCallbackRetries(fresh.database, 9), [
        { executionId: two, retryId: idAt(NOW, 1) },
        { executionId: one, retryId: idAt(NOW, 2) },
      ]);
      assert.equal((await listCallbackRetries(fresh.database, 1)).length, 1);
      const audited = await rows.execute(
        'select workspace_id, actor, action, subject, at from audit_log order by id',
      );
      assert.equal(audited.length, 2);
      assert.deepEqual(audited[0], {
        workspace_id: workspaceId,
        actor: 'user:ada',
        action: 'task.callback_retried',
        subject: `task:${one}`,
        at: at(1),
      });
    });
  });

  describe('for push notifications', () => {
    const save = async (executionId: string, id: string, after: number | null) =>
      await savePushConfig(fresh.database, {
        executionId,
        id,
        url: `${URL}${id}`,
        secrets: `sealed ${id}`,
        after,
        now: at(1),
      });
    const NEW = { seen_seq: 0, claimed_until: null, created_at: at(1) };

    it('store a configuration that begins at its event, or after the last one', async () => {
      const [open, over] = [await rows.run({ last_seq: 5 }), await rows.run({ ...ended, last_seq: 7 })];
      assert.equal(await save(randomUUIDv7(), 'a', 0), 'missing');
      for (const id of ['b', 'a']) assert.equal(await save(open, id, id === 'b' ? 2 : null), 'saved');
      for (const id of ['c', 'd']) assert.equal(await save(over, id, id === 'c' ? 0 : null), 'saved');
      const configOf = (execution_id: string, id: string, sent_seq: number, is_over = false) => {
        const values = { execution_id, id, url: `${URL}${id}`, secrets: `sealed ${id}`, sent_seq, is_over };
        return { ...values, ...NEW };
      };
      const list = async (run: string) =>
        (await listPushConfigs(fresh.database, run)).map((row) => ({ ...row }));
      assert.deepEqual(await list(open), [configOf(open, 'a', 5), configOf(open, 'b', 2)]);
      assert.deepEqual(await list(over), [configOf(over, 'c', 0), configOf(over, 'd', 7, true)]);
      await deletePushConfig(fresh.database, { executionId: over, id: 'a' });
      await deletePushConfig(fresh.database, { executionId: open, id: 'a' });
      assert.deepEqual([(await list(open)).length, (await list(over)).length], [1, 2]);
      const extended = await extendPush(fresh.database, { executionId: open, id: 'b' }, at(9));
      assert.deepEqual({ ...extended }, { ...configOf(open, 'b', 2), claimed_until: at(9) });
      assert.equal(await extendPush(fresh.database, { executionId: over, id: 'd' }, at(9)), null);
      assert.equal((await list(over))[0]?.claimed_until, null);
      await releasePush(fresh.database, { executionId: open, id: 'b' });
      assert.equal((await list(open))[0]?.claimed_until, null);
      assert.equal((await list(over))[1]?.claimed_until?.getTime(), at(9).getTime());
    });

    it('settle an event for its configuration, and end it with the end of the run', async () => {
      const [run, other] = [await rows.run(), await rows.run()];
      for (const [one, id] of [
        [run, 'a'],
        [run, 'b'],
        [other, 'a'],
      ] as const)
        await save(one, id, 3);
      const settle = async (seq: number, isOver: boolean) => {
        await settlePush(fresh.database, { executionId: run, id: 'a', seq }, isOver);
        const [first] = await listPushConfigs(fresh.database, run);
        return [first?.sent_seq, first?.is_over];
      };
      assert.deepEqual(await settle(3, true), [3, false]);
      assert.deepEqual(await settle(4, false), [4, false]);
      assert.deepEqual(await settle(5, true), [5, true]);
      assert.deepEqual(await settle(6, false), [6, true]);
      const others = [
        ...(await listPushConfigs(fresh.database, run)).slice(1),
        ...(await listPushConfigs(fresh.database, other)),
      ];
      assert.deepEqual(
        others.map(({ sent_seq, is_over }) => [sent_seq, is_over]),
        [
          [3, false],
          [3, false],
        ],
      );
    });

    it('claim the due configurations, those of the lowest ids first', async () => {
      const runs = [];
      for (const number of [3, 1, 2]) {
        const run = await rows.run({ id: idAt(NOW, number), last_seq: 2 });
        await rows.taskEvent(run, 2, { type: number === 1 ? 'run.ended' : 'state.changed' });
        await save(run, 'a', 0);
        runs.push(run);
      }
      const [third, first, second] = runs as [string, string, string];
      await save(first, 'over', 0);
      await rows.execute(`update push_configs set is_over = true where id = 'over'`);
      await save(first, 'sent', 2);
      const claim = async (limit: number, time = NOW) =>
        (await claimDuePushes(fresh.database, { now: time, until: at(60), limit })).map(
          ({ executionId, id }) => [executionId, id],
        );
      assert.deepEqual((await claim(2)).toSorted(), [
        [first, 'a'],
        [second, 'a'],
      ]);
      assert.deepEqual(await claim(9), [[third, 'a']]);
      assert.deepEqual(await claim(9, at(60)), []);
      assert.equal((await claim(9, at(60.001))).length, 3);
    });

    it('list the attempts for the newest events, by configuration', async () => {
      const run = await rows.run({ last_seq: 60 });
      for (let number = 0; number <= MAX_LISTED_ATTEMPTS; number += 1) {
        const event = { executionId: run, id: number % 2 === 0 ? 'b' : 'a', seq: 1 + Math.floor(number / 2) };
        await beginPush(fresh.database, event, {
          id: idAt(NOW, number),
          attempt: 1,
          url: URL,
          request_headers: {},
          request_body: 'x'.repeat(100_000),
          attempted_at: at(number),
        });
      }
      const listed = await listPushAttempts(fresh.database, run);
      const seqs = Array.from({ length: 51 }, (_, index) => index + 1);
      assert.deepEqual(
        listed.map(({ config_id, seq }) => [config_id, seq]),
        [...seqs.slice(1, 50).map((seq) => ['a', seq]), ...seqs.map((seq) => ['b', seq])],
      );
      // 8 MiB are 83 payloads: those of the newest events.
      const withBody = listed.filter(({ request_body: body }) => body !== null);
      assert.equal(withBody.length, 83);
      assert.ok(withBody.every(({ seq }) => seq > 9));
    });

    it('log each attempt with every field, and close earlier ones of the same event', async () => {
      const run = await rows.run({ last_seq: 3 });
      const event = { executionId: run, id: 'a', seq: 2 };
      const begunOf = (number: number, attempt: number) => ({
        id: idAt(NOW, number),
        attempt,
        url: `${URL}${number}`,
        request_headers: { 'x-request': 'a header' },
        request_body: `{"n":${number}}`,
        attempted_at: at(number),
      });
      const begin = async (which: typeof event, number: number, attempt: number) =>
        await beginPush(fresh.database, which, begunOf(number, attempt));
      assert.equal(await begin({ ...event, executionId: randomUUIDv7() }, 9, 1), false);
      assert.equal(await findLastPushAttempt(fresh.database, event), null);
      assert.equal(await begin(event, 1, 1), true);
      const others = [
        { ...event, seq: 3 },
        { ...event, id: 'b' },
      ];
      for (const [index, other] of others.entries()) await begin(other, 5 + index, 1);
      assert.equal(await begin(event, 2, 2), true);
      await endPush(fresh.database, idAt(NOW, 2), FAILED);
      await endPush(fresh.database, idAt(NOW, 2), { ...FAILED, response_status: 204 });
      const last = await findLastPushAttempt(fresh.database, event);
      const { id: configId, ...keys } = { execution_id: run, id: 'a', seq: 2 };
      assert.deepEqual({ ...last }, { ...keys, config_id: configId, ...begunOf(2, 2), ...FAILED });
      const log = (await listPushAttempts(fresh.database, run)).map(
        ({ config_id, seq, attempt, failure, completed_at }) => [
          config_id,
          seq,
          attempt,
          failure,
          completed_at,
        ],
      );
      assert.deepEqual(log, [
        ['a', 2, 1, 'interrupted', at(2)],
        ['a', 2, 2, 'status', at(3)],
        ['a', 3, 1, null, null],
        ['b', 2, 1, null, null],
      ]);
    });

    it('read the next events that cause notifications', async () => {
      const [run, other] = [await rows.run(), await rows.run()];
      for (let seq = 1; seq <= 50; seq += 1) {
        const type = seq % 2 === 0 ? 'agent.message' : seq === 49 ? 'run.ended' : 'state.changed';
        await rows.taskEvent(run, seq, { type });
      }
      await rows.taskEvent(other, 60);
      const after = async (seq: number) =>
        (await listPushedEvents(fresh.database, run, seq)).map((event) => event.seq);
      assert.deepEqual(
        await after(1),
        Array.from({ length: 20 }, (_, index) => 3 + 2 * index),
      );
      assert.deepEqual(await after(41), [43, 45, 47, 49]);
    });
  });
});
