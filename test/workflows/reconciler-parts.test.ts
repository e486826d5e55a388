import assert from 'node:assert/strict';
import { WorkflowNotFoundError, type Client } from '@temporalio/client';
import { pino } from 'pino';
import { claimDuePushes, savePushConfig } from '../../src/database/tasks/push.ts';
import { findRun } from '../../src/database/tasks/task-runs.ts';
import { createDeliveryStore } from '../../src/database/webhooks/delivery-store.ts';
import { initialView } from '../../src/domain/tasks/task-run.ts';
import { deleteAbandonedListeners, deleteOldRequests } from '../../src/reconciler/abandoned-listeners.ts';
import { holdOrCancelLeftovers } from '../../src/reconciler/forgotten-deliveries.ts';
import {
  recordEnds,
  recordPauses,
  repairPauses,
  signalPauses,
  startPushes,
  startUnsentCallbacks,
  startUnstartedCallbackRetries,
  sweep,
  type Dependencies,
} from '../../src/reconciler/reconcile.ts';
import {
  createRunInspector,
  type EngineState,
  type RunInspector,
} from '../../src/reconciler/run-inspector.ts';
import type { TaskControl } from '../../src/temporal/task-control.ts';
import { useInstallation } from '../support/installation.ts';
import { storedRows } from '../support/stored-rows.ts';

const NOW = new Date('2026-03-01T12:00:00Z');
const at = (seconds: number) => new Date(NOW.getTime() + seconds * 1_000);
const log = pino({ level: 'silent' });
const URL = 'https://receiver.example.com/';

describe('a part of the reconciler that continues runs', () => {
  const fresh = useInstallation();
  const rows = storedRows(fresh);
  beforeEach(() => rows.clear());

  /** Returns dependencies with these answers of Temporal, and a record of what was started or changed there. */
  function parts(engine: Partial<RunInspector>, control: Partial<TaskControl> = {}) {
    const actions: string[] = [];
    const changes: string[] = [];
    const dependencies: Dependencies = {
      runsKeptDays: 180,
      database: fresh.database,
      engine: engine as RunInspector,
      control: control as TaskControl,
      clock: () => NOW,
      log,
      onAction: (action) => void actions.push(action),
      onRecorded: ({ executionId }) => void changes.push(executionId),
    };
    return { actions, changes, dependencies };
  }
  const ended = { state: 'completed', completed_at: at(-60.001), callback_url: URL, callback_body: '{}' };
  const closed: EngineState = {
    kind: 'closed',
    end: { state: 'cancelled' },
    closedAt: at(-1),
    byItself: false,
  };
  const stateOf = async (id: string) => (await findRun(fresh.database, id))?.state;

  it('starts callbacks whose workflow is closed or gone, a minute after the end of their run', async () => {
    const pending = { ...ended, callback_status: 'pending' };
    const states = new Map<string, EngineState>();
    for (const [state, seconds] of [
      [{ kind: 'running' }, -90],
      [{ kind: 'paused', pausedAt: NOW, by: 'ada', reason: null }, -80],
      [closed, -70],
      [{ kind: 'absent' }, -60.001],
    ] as const)
      states.set(await rows.run({ ...pending, completed_at: at(seconds) }), state);
    await rows.run({ ...pending, completed_at: at(-60) });
    const [, , isClosed, isGone] = [...states.keys()];
    const started: string[] = [];
    const { actions, dependencies } = parts({
      stateOf: async (id) => states.get(id) ?? assert.fail('not asked'),
      async startCallback(id) {
        started.push(id);
        return id === isGone;
      },
    });
    await startUnsentCallbacks(dependencies);
    assert.deepEqual([started, actions], [[isClosed, isGone], ['callback_started']]);
  });

  it('starts the manual retries of callbacks, and counts those that were not known', async () => {
    const retry = { ...ended, callback_status: 'failed' };
    const retryIds = [1, 2, 3].map((number) => `00000000-0000-0000-0000-00000000000${number}`);
    const ids = [];
    for (const callback_retry_id of retryIds) ids.push(await rows.run({ ...retry, callback_retry_id }));
    const given: unknown[] = [];
    const { actions, dependencies } = parts(
      {},
      {
        async retryCallback(one) {
          given.push(one);
          return given.length === 1 ? 'known' : 'started';
        },
      },
    );
    await startUnstartedCallbackRetries(dependencies);
    assert.deepEqual(
      given,
      ids.map((executionId, index) => ({ executionId, retryId: retryIds[index] })),
    );
    assert.deepEqual(actions, ['callback_started', 'callback_started']);
  });

  it('keeps the claim of push notifications that it has started, and releases the others', async () => {
    const outcomes = ['started', 'known', 'failing'];
    const names = new Map<string, string>();
    for (const outcome of outcomes) {
      const executionId = await rows.run({ last_seq: 1 });
      await rows.taskEvent(executionId, 1);
      const config = { executionId, id: 'a', url: URL, secrets: '', after: 0, now: NOW };
      await savePushConfig(fresh.database, config);
      names.set(executionId, outcome);
    }
    const { actions, dependencies } = parts(
      {},
      {
        async sendPushes({ executionId }) {
          if (names.get(executionId) === 'failing') throw new Error('Temporal is unavailable');
          return names.get(executionId) as 'started' | 'known';
        },
      },
    );
    await assert.rejects(startPushes(dependencies), ({ cause }: Error) =>
      /Temporal is unavailable/.test(String(cause)),
    );
    assert.deepEqual(actions, ['push_started']);
    const claim = async (now: Date) =>
      (await claimDuePushes(fresh.database, { now, until: now, limit: 9 })).map(({ executionId }) =>
        names.get(executionId),
      );
    assert.deepEqual((await claim(NOW)).toSorted(), ['failing', 'known']);
    assert.equal((await claim(at(60))).includes('started'), false, 'it is claimed for 60 s');
    assert.equal((await claim(at(60.001))).includes('started'), true);
  });

  it('deletes webhooks a minute after their listener has left, and relayed requests after four time limits', async () => {
    const [gone, present] = [
      await rows.webhook({ listening_until: at(-60.001) }),
      await rows.webhook({ listening_until: at(-60) }),
    ];
    const request = async (id: string, seconds: number) =>
      await rows.insert('relayed_requests', {
        id,
        webhook_id: present,
        request: '{}',
        created_at: at(seconds),
      });
    const [old, young] = ['1', '2'].map((digit) => `00000000-0000-0000-0000-00000000000${digit}`);
    await request(old ?? '', -120.001);
    await request(young ?? '', -120);
    const { dependencies } = parts({});
    await deleteAbandonedListeners(dependencies);
    await deleteOldRequests(dependencies);
    assert.deepEqual(await rows.execute('select id, deleted_at from webhooks order by id'), [
      { id: gone, deleted_at: NOW },
      { id: present, deleted_at: null },
    ]);
    assert.deepEqual(await rows.execute('select id from relayed_requests'), [{ id: young }]);
    assert.deepEqual(await rows.execute('select actor, action, subject, at from audit_log'), [
      { actor: 'system', action: 'webhook.deleted', subject: `webhook:${gone}`, at: NOW },
    ]);
  });

  it('leaves the deliveries of such a webhook to the slow part that cancels them in batches', async () => {
    const delivery = await rows.delivery(await rows.webhook({ listening_until: at(-60.001) }));
    const statusOf = async () => await rows.execute('select status from deliveries where id = ?', [delivery]);
    await deleteAbandonedListeners(parts({}).dependencies);
    assert.deepEqual(await statusOf(), [{ status: 'pending' }]);
    await holdOrCancelLeftovers({ store: createDeliveryStore(fresh.database) });
    assert.deepEqual(await statusOf(), [{ status: 'cancelled' }]);
  });

  it('records the end of a run that was closed in Temporal, and sends its callback if it failed', async () => {
    const failed: EngineState = {
      ...closed,
      end: { state: 'failed', code: 'engine_timed_out', message: 'a message' },
    };
    const open = { state: 'executing', last_seq: 1, started_at: at(-9), created_at: at(-10) };
    const callback = { callback_url: URL, callback_status: 'pending' };
    const states = new Map<string, EngineState>([
      [await rows.run({ ...open, ...callback }), failed],
      [await rows.run(open), failed],
      [await rows.run({ ...open, ...callback }), closed],
      [await rows.run({ ...open, ...callback }), { ...failed, byItself: true }],
    ]);
    const ids = [...states.keys()];
    const [first, , , byItself] = ids;
    const endedRun = await rows.run(ended);
    const [started, cancelled, viewed]: [string[], string[], string[]] = [[], [], []];
    const { actions, changes, dependencies } = parts(
      {
        async runsClosedFromOutside(now) {
          assert.deepEqual(now, NOW);
          return [...ids, endedRun];
        },
        stateOf: async (id) => states.get(id) ?? assert.fail('an ended run'),
        async startCallback(id) {
          started.push(id);
          return true;
        },
      },
      {
        cancelAgents: async (id) => void cancelled.push(id),
        async view(id) {
          viewed.push(id);
          return null;
        },
      },
    );
    await recordEnds(dependencies);
    assert.deepEqual(await Promise.all(ids.map(stateOf)), ['failed', 'failed', 'cancelled', 'failed']);
    assert.deepEqual(started.toSorted(), [first, byItself].toSorted());
    assert.deepEqual(cancelled.toSorted(), ids.slice(0, 3).toSorted());
    assert.deepEqual(
      viewed,
      Array.from({ length: 5 }, () => byItself),
      'the closed workflow was asked',
    );
    assert.deepEqual(changes.toSorted(), ids.toSorted());
    assert.deepEqual(
      actions,
      Array.from({ length: 4 }, () => 'end_noted'),
    );
    assert.deepEqual((await findRun(fresh.database, first ?? ''))?.completed_at, at(-1));
  });

  it('takes the end from a workflow that ended by itself, if it shows one', async () => {
    const run = { state: 'executing', last_seq: 1, created_at: at(-10) };
    const [own, open] = [await rows.run(run), await rows.run(run)];
    const time = at(-2).toISOString();
    const { dependencies } = parts(
      {
        runsClosedFromOutside: async () => [own, open],
        stateOf: async () => ({ ...closed, byItself: true }),
      },
      {
        view: async (id) => {
          const view = { ...initialView(), started_at: time, last_seq: 9 };
          return id === own
            ? { ...view, state: 'completed' as const, completed_at: time, duration_ms: 0, output: { a: 1 } }
            : { ...view, state: 'executing' as const };
        },
      },
    );
    await recordEnds(dependencies);
    const row = await findRun(fresh.database, own);
    assert.deepEqual([row?.state, row?.output], ['completed', { a: 1 }]);
    assert.equal(await stateOf(open), 'cancelled');
  });

  it('cancels a run whose execution is gone, and ends the workflow of a run that has ended long ago', async () => {
    const begun = { state: 'executing', last_seq: 1, created_at: at(-3.001) };
    const [gone, listed, young] = [
      await rows.run(begun),
      await rows.run(begun),
      await rows.run({ ...begun, created_at: at(-3) }),
    ];
    const [left, recent] = [await rows.run(ended), await rows.run({ ...ended, completed_at: at(-60) })];
    const signalled: unknown[] = [];
    const { actions, dependencies } = parts(
      {
        openRuns: async () => [listed, left, recent],
        async stateOf(id) {
          assert.equal(id, gone);
          return { kind: 'absent' };
        },
        async cancelWaiting(...given) {
          signalled.push(given);
          return true;
        },
      },
      { cancelAgents: async () => {} },
    );
    await sweep(dependencies);
    assert.deepEqual(await Promise.all([gone, listed, young].map(stateOf)), [
      'cancelled',
      'executing',
      'executing',
    ]);
    assert.deepEqual((await findRun(fresh.database, gone))?.completed_at, NOW);
    assert.deepEqual([signalled, actions], [[[left, { by: 'system' }]], ['end_noted']]);
  });

  it('records a pause once with its reason, signals it once, and repairs only runs that are not paused any more', async () => {
    const begun = { state: 'executing', last_seq: 1, created_at: at(-10) };
    const [one, two] = [await rows.run(begun), await rows.run(begun)];
    const signalled: unknown[] = [];
    const repaired: string[] = [];
    let paused = [one, two];
    const { actions, changes, dependencies } = parts({
      pausedRuns: async () => paused,
      stateOf: async (id) =>
        id === one
          ? { kind: 'paused', pausedAt: at(-5), by: 'ada', reason: 'a reason' }
          : { kind: 'running' },
      async signalPause(...given) {
        signalled.push(given);
        return true;
      },
      async repairAfterPause(id) {
        repaired.push(id);
        return true;
      },
    });
    for (let turn = 0; turn < 2; turn += 1) {
      await recordPauses(dependencies);
      await signalPauses(dependencies);
      await repairPauses(dependencies);
    }
    assert.deepEqual([await stateOf(one), await stateOf(two)], ['paused', 'executing']);
    assert.deepEqual([changes, actions, repaired], [[one], ['pause_noted'], []]);
    assert.deepEqual(signalled, [[one, { pausedAt: at(-5).toISOString(), by: 'ada' }]]);
    const [event] = await rows.execute('select type, at, data from task_events where execution_id = ?', [
      one,
    ]);
    assert.deepEqual(event, {
      type: 'state.changed',
      at: at(-5),
      data: { from: 'executing', to: 'paused', by: 'ada', reason: 'a reason' },
    });
    paused = [];
    await repairPauses(dependencies);
    assert.deepEqual([repaired, actions.at(-1)], [[one], 'pause_repaired']);
  });
});

describe('the state of a run in Temporal', () => {
  type Description = { status: string; raw?: object; closeTime?: Date };

  /** Returns an inspector of a workflow with this description, and the signals and resets that it got. */
  function inspect(description: Description | Error, events: object[] = []) {
    const sent: unknown[] = [];
    const client = {
      options: { namespace: 'default' },
      withDeadline: async (_deadline: unknown, call: () => Promise<unknown>) => await call(),
      workflow: {
        getHandle: () => ({
          async describe() {
            if (description instanceof Error) throw description;
            const { status, raw = {}, closeTime } = description;
            return { status: { name: status }, raw, closeTime, runId: 'run-1' };
          },
          signal: async (signal: { name: string }, ...given: unknown[]) =>
            void sent.push([signal.name, ...given]),
          fetchHistory: async () => ({ events }),
        }),
      },
      workflowService: { resetWorkflowExecution: async (request: object) => void sent.push(request) },
    };
    const inspector = createRunInspector({ client: client as unknown as Client, taskQueue: 'baton', log });
    return { inspector, sent };
  }
  const state = async (description: Description | Error) =>
    await inspect(description).inspector.stateOf('one');

  it('is that of its workflow', async () => {
    assert.deepEqual(await state({ status: 'RUNNING' }), { kind: 'running' });
    assert.deepEqual(await state({ status: 'CONTINUED_AS_NEW' }), { kind: 'running' });
    assert.deepEqual(await state(new WorkflowNotFoundError('not found', 'one', undefined)), {
      kind: 'absent',
    });
    await assert.rejects(state(new Error('no response')), /no response/);
    const cancelled = { state: 'cancelled' };
    const broken = {
      state: 'failed',
      code: 'engine_failed',
      message: 'the run was closed in Temporal before it ended',
    };
    const late = { state: 'failed', code: 'engine_timed_out', message: 'the run timed out in Temporal' };
    for (const [status, end, byItself] of [
      ['TERMINATED', cancelled, false],
      ['CANCELLED', cancelled, true],
      ['TIMED_OUT', late, false],
      ['FAILED', broken, true],
      ['COMPLETED', broken, true],
    ] as const)
      assert.deepEqual(await state({ status, closeTime: at(1) }), {
        kind: 'closed',
        end,
        closedAt: at(1),
        byItself,
      });
  });

  it('includes when, by whom and why it was paused', async () => {
    const paused = async (pauseInfo: object | undefined) =>
      await state({ status: 'PAUSED', raw: { workflowExtendedInfo: { pauseInfo } } });
    const pausedTime = { seconds: String(NOW.getTime() / 1_000), nanos: 7_999_999 };
    assert.deepEqual(await paused({ identity: 'ada', reason: 'a reason', pausedTime }), {
      kind: 'paused',
      pausedAt: at(0.007),
      by: 'temporal: ada',
      reason: 'a reason',
    });
    const unknown = await paused(undefined);
    assert.ok(unknown.kind === 'paused');
    assert.deepEqual([unknown.by, unknown.reason], ['temporal: unknown', null]);
    const unnamed = await paused({ identity: '', reason: '', pausedTime: { seconds: 1 } });
    assert.deepEqual(unnamed, {
      kind: 'paused',
      pausedAt: new Date(1_000),
      by: 'temporal: unknown',
      reason: null,
    });
  });

  it('decides whether a waiting workflow is cancelled', async () => {
    const calling = { activityType: { name: 'sendCallback' } };
    const cancel = async (description: Description | Error) => {
      const { inspector, sent } = inspect(description);
      return [await inspector.cancelWaiting('one', { by: 'system' }), sent.length];
    };
    assert.deepEqual(await cancel({ status: 'RUNNING' }), [true, 1]);
    assert.deepEqual(
      await cancel({ status: 'RUNNING', raw: { pendingActivities: [{ activityType: { name: 'other' } }] } }),
      [true, 1],
    );
    for (const description of [
      { status: 'PAUSED' },
      { status: 'COMPLETED' },
      { status: 'RUNNING', raw: { pendingWorkflowTask: {} } },
      { status: 'RUNNING', raw: { pendingActivities: [{}, calling] } },
      new WorkflowNotFoundError('not found', 'one', undefined),
    ])
      assert.deepEqual(await cancel(description), [false, 0], JSON.stringify(description));
  });

  it('decides whether a workflow is reset to the task that never started', async () => {
    const never = { eventId: 7, workflowTaskFailedEventAttributes: { cause: 39 } };
    const other = { eventId: 5, workflowTaskFailedEventAttributes: { cause: 38 } };
    const repair = async (status: string, attempt: number, events: object[]) => {
      const { inspector, sent } = inspect({ status, raw: { pendingWorkflowTask: { attempt } } }, events);
      return [await inspector.repairAfterPause('one'), sent];
    };
    assert.deepEqual(await repair('RUNNING', 1, [never]), [false, []]);
    assert.deepEqual(await repair('PAUSED', 2, [never]), [false, []]);
    assert.deepEqual(await repair('RUNNING', 2, [{}, other]), [false, []]);
    assert.deepEqual(await repair('RUNNING', 2, [{}, other, never]), [
      true,
      [
        {
          namespace: 'default',
          workflowExecution: { workflowId: 'one', runId: 'run-1' },
          workflowTaskFinishEventId: 7,
          reason: 'the SDK cannot read a workflow task that never started',
          requestId: 'run-1:7',
        },
      ],
    ]);
  });
});
