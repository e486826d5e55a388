import assert from 'node:assert/strict';
import { randomUUID, randomUUIDv7 } from 'node:crypto';
import { pino } from 'pino';
import type { Dependencies as ApiDependencies } from '../../src/api/dependencies.ts';
import { createDeliveryStore } from '../../src/database/webhooks/delivery-store.ts';
import { testWebhook } from '../../src/api/webhooks/test.ts';
import { markGroupsStarted } from '../../src/database/webhooks/events.ts';
import { createRunInspector } from '../../src/reconciler/run-inspector.ts';
import {
  cancelTestsOfDeadProcesses,
  startUnstartedGroups,
  regroupStuckEvents,
  restartEndedRetries,
} from '../../src/reconciler/forgotten-deliveries.ts';
import * as listenerParts from '../../src/reconciler/abandoned-listeners.ts';
import * as deliveryParts from '../../src/reconciler/forgotten-deliveries.ts';
import * as runParts from '../../src/reconciler/reconcile.ts';
import { startReconciler } from '../../src/reconciler/reconciler-loop.ts';
import {
  attemptWorkflowId,
  backlogWorkflowId,
  deliveryWorkflowId,
  dispatchWorkflowId,
  manualRetriesWorkflowId,
  PRIORITIES,
} from '../../src/temporal/delivery-messages.ts';
import { createTaskControl } from '../../src/temporal/task-control.ts';
import { TASK_RUN_WORKFLOW, taskQueues } from '../../src/temporal/task-messages.ts';
import { startDeliveryWorker } from '../../workers/delivery-worker.ts';
import { useReceiver } from '../support/callback-receiver.ts';
import { useOwnDeliveries } from '../support/deliveries.ts';
import { quietRun } from '../gateway/quiet-runs.ts';
import { eventually } from '../support/eventually.ts';

const MINUTE_MS = 60_000;

describe('the workflows and activities of deliveries', () => {
  const world = useOwnDeliveries({ workers: 0 });

  it('have priorities, so that new events do not wait behind many manual retries', async () => {
    const ids = Array.from({ length: 3 }, () => randomUUIDv7()) as [string, string, string];
    const [groupId, deliveryId, token] = ids;
    await world.control.dispatch([groupId]);
    await world.control.attempt({ deliveryId, trigger: 'manual', token, attempts: 1 });
    await world.control.startRetries({ deliveryId, generation: 0 }, 0);
    await world.control.drainBacklog(token);
    await world.control.makeManualRetries(token);
    const workflows = [
      dispatchWorkflowId(groupId),
      deliveryWorkflowId({ deliveryId, generation: 0 }),
      attemptWorkflowId(token),
      backlogWorkflowId(token),
      manualRetriesWorkflowId(token),
    ];
    const priorities = [];
    for (const id of workflows) {
      const handle = world.client.workflow.getHandle(id);
      const { raw } = await handle.describe();
      priorities.push(raw.workflowExecutionInfo?.priority?.priorityKey);
      await handle.terminate('a test');
    }
    const { dispatch, retries, attempt, backlog } = PRIORITIES;
    assert.deepEqual(priorities, [dispatch, retries, attempt, backlog, attempt]);
    assert.ok(dispatch < retries && retries < attempt);
  });
});

describe('the reconciler', () => {
  const world = useOwnDeliveries({ workers: 0 });
  const receiver = useReceiver('each test');
  const silent = pino({ level: 'silent' });

  const query = <Row>(statement: string, values: unknown[] = []) =>
    world.database.em.fork().execute<Row[]>(statement, values);
  const engineOf = () =>
    createRunInspector({ client: world.client, taskQueue: world.configuration.taskQueue, log: silent });
  /** Returns dependencies with a clock that is `laterMs` ahead. */
  const dependencies = (laterMs: number) => ({
    store: createDeliveryStore(world.database),
    database: world.database,
    engine: engineOf(),
    deliveryControl: world.control,
    clock: () => new Date(Date.now() + laterMs),
    log: silent,
    positions: { deliveries: null, retries: null },
  });
  /** Starts a reconciler with these changes of its dependencies, and a clock that is `laterMs` ahead. */
  const start = (changes: Partial<Parameters<typeof startReconciler>[0]>, laterMs = 0) => {
    const { client, configuration } = world;
    const { taskQueue, databaseUrl } = configuration;
    return startReconciler({
      ...dependencies(laterMs),
      databaseUrl,
      control: createTaskControl({ client, taskQueue, eagerStart: false, searchable: true }),
      runsKeptDays: 180,
      ...changes,
    });
  };
  /** Publishes an event whose group no worker claims. */
  const publish = async (): Promise<string> => {
    const [body = ''] = await world.publish([{ id: `evt_${randomUUID()}` }]);
    const [row] = await query<{ group_id: string }>('select group_id from events where id = ?', [
      JSON.parse(body).id,
    ]);
    return row?.group_id ?? '';
  };
  const groupRow = async (id: string) => {
    const [row] = await query<{ started_at: Date | null; done_at: Date | null }>(
      'select started_at, done_at from event_groups where id = ?',
      [id],
    );
    return row;
  };

  // Unfinished groups and runs of a test must not reach the next one.
  afterEach(async () => {
    await query('update event_groups set started_at = now(), done_at = now() where done_at is null');
    await query('delete from task_runs');
  });

  it('continues after a failed row and after a failed part, and logs each failure once per turn', async () => {
    await quietRun(world.database, world.installation); // without an open run, Temporal is not asked for lists
    const failing = await publish();
    const next = await publish();
    const listener = await world.webhook({ url: receiver.url });
    await world.changeWebhook(listener, { listening_until: new Date(Date.now() - 10 * MINUTE_MS) });
    const lines: { msg: string; part?: string }[] = [];
    const turns: string[] = [];
    const { control } = world;
    const deliveryControl = {
      ...control,
      dispatch: (ids: readonly [string, ...string[]]) =>
        ids.includes(failing) ? Promise.reject(new Error('this group cannot start')) : control.dispatch(ids),
    };
    const engine = engineOf();
    const reconciler = start(
      {
        deliveryControl,
        engine: { ...engine, pausedRuns: () => Promise.reject(new Error('no list')) },
        log: pino({ level: 'warn' }, { write: (line: string) => void lines.push(JSON.parse(line)) }),
        onTurn: (outcome) => void turns.push(outcome),
      },
      10_000,
    );
    try {
      await eventually('two turns', async () => turns.length >= 2);
    } finally {
      await reconciler.stop();
    }
    assert.ok((await groupRow(next))?.started_at, 'the next group is dispatched');
    assert.equal((await groupRow(failing))?.started_at, null);
    assert.ok((await world.webhookRow(listener)).deleted_at, 'the next part has run');
    assert.deepEqual(new Set(turns), new Set(['failed']));
    const failures = lines.filter(({ msg }) => msg === 'reconciler turn failed');
    const of = (part: string) => failures.filter((line) => line.part === part).length;
    assert.deepEqual([of('recordPauses'), of('startUnstartedGroups')], [turns.length, turns.length]);
    assert.equal(failures.length, 2 * turns.length);
  });

  it('does every part in its turns', async () => {
    const fail = () => {
      throw new Error('unavailable');
    };
    const everyCallThrows = new Proxy({}, { get: () => fail }) as never;
    const everyCallFails = new Proxy({}, { get: () => async () => fail() }) as never;
    const lines: { part?: string }[] = [];
    const reconciler = start({
      database: { em: everyCallThrows } as never,
      engine: everyCallFails,
      control: everyCallFails,
      log: pino({ level: 'warn' }, { write: (line: string) => void lines.push(JSON.parse(line)) }),
    });
    const parts = [runParts, deliveryParts, listenerParts]
      .flatMap((module) => Object.values(module))
      .flatMap((part) => (typeof part === 'function' ? part.name : []));
    const failed = () => new Set(lines.flatMap(({ part }) => part ?? []));
    try {
      await eventually('each part has failed', () => failed().size >= parts.length);
    } finally {
      await reconciler.stop();
    }
    assert.deepEqual(failed(), new Set(parts));
  });

  it('asks Temporal for lists only while a run is open', async () => {
    const asked: string[] = [];
    let turns = 0;
    const list = (name: string) => async () => {
      asked.push(name);
      return [];
    };
    const reconciler = start({
      engine: {
        ...engineOf(),
        pausedRuns: list('paused'),
        runsClosedFromOutside: list('closed'),
        openRuns: list('open'),
      },
      onTurn: () => void (turns += 1),
    });
    try {
      await eventually('two turns', () => turns >= 2);
      assert.deepEqual(asked, ['open'], 'the sweep finds workflows of ended runs');
      await quietRun(world.database, world.installation);
      await eventually('both lists are read', () => asked.includes('paused') && asked.includes('closed'));
    } finally {
      await reconciler.stop();
    }
  });

  it('is one for each database, until the connection that holds the lock breaks', async () => {
    let turns = 0;
    const connections = async () => {
      const rows = await query<{ pid: number }>(
        `select pid from pg_stat_activity where datname = current_database() and application_name = 'baton reconciler'`,
      );
      return rows.map(({ pid }) => pid);
    };
    const first = start({ onTurn: () => void (turns += 1) });
    try {
      await eventually('the first has a turn', () => turns > 0);
      const [holder = 0] = await connections();
      let others = 0;
      const second = start({ onTurn: () => void (others += 1) });
      await second.stop();
      assert.equal(others, 0);
      await eventually(
        'the second has closed its connection',
        async () => (await connections()).length === 1,
      );
      await query('select pg_terminate_backend(?)', [holder]);
      await eventually('the first takes the lock again', async () => {
        const [pid] = await connections();
        return pid !== undefined && pid !== holder;
      });
    } finally {
      await first.stop();
    }
  });

  it('repeats its slow parts, and reports the turn after a failed one as failed', async () => {
    const turns: string[] = [];
    let sweeps = 0;
    const reconciler = start({
      engine: {
        ...engineOf(),
        async openRuns() {
          sweeps += 1;
          if (sweeps === 1) throw new Error('no list');
          return [];
        },
      },
      onTurn: (outcome) => void turns.push(outcome),
      sweepEveryMs: 0,
    });
    try {
      await eventually('two sweeps', () => sweeps >= 2);
      await eventually('a failed turn, and one that is not', () => /failed.*done/.test(turns.join()));
    } finally {
      await reconciler.stop();
    }
  });

  it('repeats its slow parts while the deliveries of a webhook are still being cancelled', async () => {
    const webhookId = await world.webhook({ url: receiver.url });
    await query(
      `insert into deliveries (id, workspace_id, webhook_id, event_seq, event_id, event, status, created_at, updated_at)
       select ?, workspace_id, id, 1, 'e1', 'issue.created', 'pending', now(), now() from webhooks where id = ?`,
      [randomUUIDv7(), webhookId],
    );
    await query('update webhooks set deleted_at = now() where id = ?', [webhookId]);
    let sweeps = 0;
    const engine = {
      ...engineOf(),
      async openRuns() {
        sweeps += 1;
        return [];
      },
    };
    const waitsSince = async () => {
      const rows = await query<{ begun: string }>(
        `select query_start::text as begun from pg_stat_activity
         where datname = current_database() and wait_event_type = 'Lock' and query like '%the webhook was deleted%'`,
      );
      return rows[0]?.begun;
    };
    const em = world.database.em.fork();
    await em.begin();
    await em.execute('select from webhooks where id = ? for update', [webhookId]);
    const reconciler = start({ engine, sweepEveryMs: 0 });
    try {
      await eventually('the other parts are repeated while one waits', async () => {
        const begun = await waitsSince();
        if (begun === undefined) return false;
        const before = sweeps;
        await eventually('another sweep', () => sweeps > before);
        return (await waitsSince()) === begun;
      });
      await em.commit();
      const cancelled = () =>
        query(`select from deliveries where webhook_id = ? and status = 'cancelled'`, [webhookId]);
      await eventually('it is cancelled', async () => (await cancelled()).length === 1);
    } finally {
      if (em.isInTransaction()) await em.rollback();
      await reconciler.stop();
    }
  });

  it('stops although Temporal never responds', async () => {
    await quietRun(world.database, world.installation);
    const asked = Promise.withResolvers<void>();
    const reconciler = start(
      {
        engine: {
          ...engineOf(),
          async pausedRuns() {
            asked.resolve();
            return await new Promise<never>(() => {});
          },
        },
        stopMs: 10,
      },
      10_000,
    );
    await asked.promise;
    await reconciler.stop();
  });

  it('cancels a test whose process died before it started it', async () => {
    const webhookId = await world.webhook({ url: receiver.url });
    const api = {
      database: world.database,
      control: { ready: async () => {} },
      deliveryControl: { attemptAndWait: () => new Promise<never>(() => {}) },
      clock: () => new Date(),
      log: silent,
    } as unknown as ApiDependencies;
    const event = 'issue.created' as const;
    const workspaceId = world.installation.workspace_id;
    void testWebhook(api, {
      workspaceId,
      actor: 'test',
      id: webhookId,
      event,
      data: undefined,
      draft: undefined,
    });
    const stored = await eventually(
      'the test is stored',
      async () => (await world.deliveries(webhookId))[0] ?? null,
    );
    await cancelTestsOfDeadProcesses(dependencies(2 * MINUTE_MS));
    assert.equal((await world.deliveries(webhookId))[0]?.status, 'pending', 'its process may live');
    await query(`update deliveries set test = false where id = '${stored.id}'`);
    await cancelTestsOfDeadProcesses(dependencies(4 * MINUTE_MS));
    assert.equal((await world.deliveries(webhookId))[0]?.status, 'pending', 'only tests are cancelled');
    await query(`update deliveries set test = true where id = '${stored.id}'`);
    await cancelTestsOfDeadProcesses(dependencies(4 * MINUTE_MS));
    const [row] = await world.deliveries(webhookId);
    assert.deepEqual([row?.status, row?.reason], ['cancelled', 'the test was not sent in time']);
  });

  it('reads only runs of its own queue with a valid run id', async () => {
    const { client } = world;
    const { taskQueue } = world.configuration;
    const now = new Date();
    const own = randomUUID();
    const started = [
      { workflowId: 'nightly', queue: taskQueues(taskQueue).runs },
      { workflowId: `nightly-${taskQueue}`, queue: 'somebody-elses' },
      { workflowId: randomUUID(), queue: 'somebody-elses' },
      { workflowId: own, queue: taskQueues(taskQueue).runs },
    ];
    for (const { workflowId, queue } of started) {
      const handle = await client.workflow.start(TASK_RUN_WORKFLOW, {
        workflowId,
        taskQueue: queue,
        args: [{}],
      });
      await handle.terminate('a test');
    }
    const engine = engineOf();
    await eventually('all are listed as terminated', async () => {
      const ids = new Set<string>();
      const terminated = `WorkflowType = '${TASK_RUN_WORKFLOW}' and ExecutionStatus = 'Terminated'`;
      for await (const { workflowId } of client.workflow.list({ query: terminated })) ids.add(workflowId);
      return started.every(({ workflowId }) => ids.has(workflowId));
    });
    assert.deepEqual(await engine.runsClosedFromOutside(now), [own]);
  });

  it('starts the retries of an overdue delivery again if their workflow was terminated', async () => {
    receiver.answering(500);
    const webhookId = await world.webhook({ url: receiver.url });
    await publish();
    const worker = await startDeliveryWorker(world.configuration, silent);
    try {
      const delivery = await eventually('a failed delivery', async () => {
        const [row] = await world.deliveries(webhookId);
        return row?.retry_started ? row : null;
      });
      receiver.answering(204);
      const started: string[] = [];
      const reconcile = (laterMs: number) =>
        restartEndedRetries({
          ...dependencies(laterMs),
          onAction: (action) => void started.push(action),
        });
      await reconcile(3 * MINUTE_MS);
      assert.deepEqual(started, [], 'their workflow is open');
      const handle = world.client.workflow.getHandle(
        deliveryWorkflowId({ deliveryId: delivery.id, generation: 0 }),
      );
      await handle.terminate('an operator');
      await reconcile(MINUTE_MS);
      assert.deepEqual(started, [], 'the delivery is not overdue');
      await query(
        `update deliveries set next_attempt_at = now() - interval '2 min' where id = '${delivery.id}'`,
      );
      await reconcile(0);
      assert.deepEqual(started, ['retry_started']);
      await handle.result();
      assert.equal((await world.deliveries(webhookId))[0]?.status, 'succeeded');
    } finally {
      await worker.close();
    }
  });

  it('dispatches a group again if its workflow was terminated, but not while one is open', async () => {
    const webhookId = await world.webhook({ url: receiver.url });
    const groupId = await publish();
    await markGroupsStarted(world.database, [groupId]);
    await query(`update event_groups set claimed_by = 'a workflow' where id = '${groupId}'`);
    const engine = engineOf();
    const period = { from: new Date(Date.now() - MINUTE_MS), until: new Date() };
    await eventually('the workflow is listed', () => engine.hasOpenDispatch(period));
    await regroupStuckEvents(dependencies(16 * MINUTE_MS));
    assert.equal((await groupRow(groupId))?.done_at, null, 'its workflow is open');

    for await (const { workflowId } of world.client.workflow.list({
      query: `TaskQueue = '${taskQueues(world.configuration.taskQueue).deliveries}' and ExecutionStatus = 'Running'`,
    })) {
      await world.client.workflow.getHandle(workflowId).terminate('an operator');
    }
    await eventually('no workflow is open', async () => !(await engine.hasOpenDispatch(period)));
    await regroupStuckEvents(dependencies(14 * MINUTE_MS));
    assert.equal((await groupRow(groupId))?.done_at, null, 'it is not old enough');
    await regroupStuckEvents(dependencies(16 * MINUTE_MS));
    assert.ok((await groupRow(groupId))?.done_at, 'its events were moved to a new group');
    await startUnstartedGroups(dependencies(10_000));

    const worker = await startDeliveryWorker(world.configuration, silent);
    try {
      await eventually('delivered', async () => {
        const rows = await world.deliveries(webhookId);
        return rows.length === 1 && rows[0]?.status === 'succeeded';
      });
      assert.equal(receiver.requests.length, 1);
      await eventually('every group is done', async () => {
        const open = await query(
          'select id from event_groups where done_at is null and started_at is not null',
        );
        return open.length === 0;
      });
    } finally {
      await worker.close();
    }
  });
});
