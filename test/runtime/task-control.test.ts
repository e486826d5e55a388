import assert from 'node:assert/strict';
import { mock } from 'node:test';
import {
  ServiceError,
  WorkflowExecutionAlreadyStartedError,
  WorkflowNotFoundError,
  type Client,
} from '@temporalio/client';
import { createOrphanControl } from '../../src/temporal/orphans.ts';
import {
  createTaskControl,
  runToStart,
  startFailure,
  type RunToStart,
} from '../../src/temporal/task-control.ts';
import { siblingQueues } from '../../src/temporal/task-messages.ts';

const AT = new Date('2026-01-31T12:00:00.000Z');
const RUN: RunToStart = {
  id: 'e1',
  workspaceId: 'ws',
  projectId: 'p',
  title: 'A title',
  taskType: 'bug',
  rehearsal: null,
  hasCallback: true,
  createdAt: AT,
};
const INPUT = {
  executionId: 'e1',
  createdAt: '2026-01-31T12:00:00.000Z',
  hasCallback: true,
  taskType: RUN.taskType,
  rehearsal: null,
  ordersSignals: true,
  findBy: null,
};
const STARTED = {
  workflowId: 'e1',
  taskQueue: 'test-runs',
  args: [INPUT],
  workflowIdReusePolicy: 'REJECT_DUPLICATE',
  staticSummary: 'A title',
};
const NOT_FOUND = new WorkflowNotFoundError('not found', 'e1', undefined);
const KNOWN = new WorkflowExecutionAlreadyStartedError('known', 'e1', 'taskRun');
const grpcError = (code: number) => Object.assign(new Error('refused'), { code, details: '', metadata: {} });

describe('the operations on the workflows of runs', () => {
  // Deadlines are then the limits themselves.
  beforeEach(() => void mock.method(Date, 'now', () => 0));
  afterEach(() => mock.reset());

  /** Returns operations on a Temporal, and their calls with their deadlines. `failures`: by the name of the call. */
  function open({
    failures = {},
    status = 'RUNNING',
    listed = [],
    searchable = false,
    eagerStart = false,
  }: {
    failures?: Record<string, Error>;
    status?: string;
    listed?: string[];
    searchable?: boolean;
    eagerStart?: boolean;
  } = {}) {
    const calls: unknown[][] = [];
    let deadline = 0;
    const called = async <T>(result: T, name: string, ...given: unknown[]): Promise<T> => {
      calls.push([deadline, name, ...given]);
      if (failures[name]) throw failures[name];
      return result;
    };
    const client = {
      options: { namespace: 'a namespace' },
      async withDeadline(until: number, call: () => Promise<unknown>) {
        deadline = until;
        return await call();
      },
      workflow: {
        start: (type: string, options: object) => called(null, 'start', type, options),
        signalWithStart: (type: string, { signal, ...options }: { signal: { name: string } }) =>
          called(null, 'signalWithStart', type, signal.name, options),
        async *list({ query }: { query: string }) {
          await called(null, 'list', query);
          for (const workflowId of listed) yield { workflowId, runId: `run of ${workflowId}`, more: 1 };
        },
        getHandle: (id: string) => ({
          signal: ({ name }: { name: string }, request: object) => called(null, 'signal', id, name, request),
          query: ({ name }: { name: string }) => called('a view', 'query', id, name),
          cancel: () => called(null, 'cancel', id),
          describe: () => called({ status: { name: status } }, 'describe', id),
          terminate: (reason: string) => called(null, 'terminate', id, reason),
        }),
      },
      workflowService: {
        getSystemInfo: (request: object) => called(null, 'getSystemInfo', request),
        deleteWorkflowExecution: (request: object) => called(null, 'delete', request),
        unpauseWorkflowExecution: ({ requestId, ...request }: { requestId: string }) =>
          called(null, 'unpause', request, requestId.length),
      },
    } as unknown as Client;
    const control = createTaskControl({ client, taskQueue: 'test', searchable, eagerStart });
    return { control, calls, orphans: createOrphanControl(client, 'test') };
  }

  it('start a run once, with what determines its course', async () => {
    const { control, calls } = open();
    assert.equal(await control.start(RUN), 'started');
    assert.deepEqual(calls, [[10_000, 'start', 'taskRun', { ...STARTED, requestEagerStart: false }]]);
    const other = open({ searchable: true, eagerStart: true });
    await other.control.start({ ...RUN, hasPlan: true, title: `${'x'.repeat(399)}ü` });
    const findBy = { workspaceId: 'ws', projectId: 'p' };
    assert.deepEqual(other.calls[0]?.[3], {
      ...STARTED,
      args: [{ ...INPUT, hasPlan: true, findBy }],
      staticSummary: 'x'.repeat(399),
      requestEagerStart: true,
    });
    assert.equal(await open({ failures: { start: KNOWN } }).control.start(RUN), 'known');
  });

  it('keep a title of as many bytes as Temporal accepts', async () => {
    const { control, calls } = open();
    await control.start({ ...RUN, title: `${'x'.repeat(398)}ü` });
    const staticSummary = `${'x'.repeat(398)}ü`;
    assert.deepEqual(calls[0]?.[3], { ...STARTED, staticSummary, requestEagerStart: false });
  });

  it('signal a run, and end a pause of the Web UI only to continue or cancel', async () => {
    const request = { by: 'key:one' } as never;
    for (const [name, isPauseEnded] of [
      ['pause', false],
      ['continue', true],
      ['cancel', true],
    ] as const) {
      const { control, calls } = open({ status: 'PAUSED' });
      assert.equal(await control[name]('e1', request), 'accepted');
      const unpause = {
        namespace: 'a namespace',
        workflowId: 'e1',
        identity: 'key:one',
        reason: 'through the API',
      };
      assert.deepEqual(calls, [
        [3_000, 'signal', 'e1', name, request],
        ...(isPauseEnded
          ? [
              [3_000, 'describe', 'e1'],
              [3_000, 'unpause', unpause, 36],
            ]
          : []),
      ]);
      const running = open();
      await running.control[name]('e1', request);
      assert.ok(running.calls.every(([, call]) => call !== 'unpause'));
    }
  });

  it('start a run that has no workflow yet with its first signal', async () => {
    const request = { by: 'key:one' } as never;
    for (const name of ['pause', 'continue', 'cancel'] as const) {
      const { control, calls } = open({ failures: { signal: NOT_FOUND } });
      assert.equal(await control[name]('e1', request, RUN), 'accepted');
      const options = { ...STARTED, signalArgs: [request] };
      assert.deepEqual(calls[1], [3_000, 'signalWithStart', 'taskRun', name, options]);
    }
  });

  it('say that a run has ended, or that it may have received the signal or not', async () => {
    const request = { by: 'key:one' } as never;
    for (const name of ['pause', 'continue', 'cancel'] as const) {
      const ended = open({ failures: { signal: NOT_FOUND } });
      assert.equal(await ended.control[name]('e1', request), 'ended');
      assert.equal(ended.calls.length, 1, 'nothing else is called');
      const known = open({ failures: { signal: NOT_FOUND, signalWithStart: KNOWN } });
      assert.equal(await known.control[name]('e1', request, RUN), 'ended');
      const uncertain = open({ failures: { signal: grpcError(14) } });
      await assert.rejects(uncertain.control[name]('e1', request, RUN), { name: 'SignalUncertain' });
    }
    for (const name of ['continue', 'cancel'] as const) {
      const unknown = open({ failures: { describe: grpcError(14) } });
      await assert.rejects(unknown.control[name]('e1', request), { name: 'SignalUncertain' });
      const gone = open({ failures: { describe: NOT_FOUND } });
      assert.equal(await gone.control[name]('e1', request), 'accepted');
    }
  });

  it('read the state of a run, or nothing', async () => {
    const { control, calls } = open();
    assert.equal(await control.view('e1'), 'a view');
    assert.deepEqual(calls, [[1_000, 'query', 'e1', 'detail']]);
  });

  it('ask no run for its state while Temporal answers late, but after other errors', async () => {
    for (const error of [grpcError(4), grpcError(14), new ServiceError('late', { cause: grpcError(1) })]) {
      const { control, calls } = open({ failures: { query: error } });
      assert.equal(await control.view('e1'), null);
      assert.equal(await control.view('e2'), null);
      assert.equal(calls.length, 1, error.message);
    }
    for (const error of [grpcError(9), new ServiceError('refused', { cause: grpcError(9) }), NOT_FOUND]) {
      const { control, calls } = open({ failures: { query: error } });
      assert.equal(await control.view('e1'), null);
      assert.equal(await control.view('e2'), null);
      assert.equal(calls.length, 2, error.message);
    }
  });

  it('start retries of callbacks and push notifications, also after earlier ones have ended', async () => {
    const { control, calls } = open();
    const retry = { executionId: 'e1', retryId: 'r1' };
    const push = { executionId: 'e1', id: 'p1' };
    assert.equal(await control.retryCallback(retry), 'started');
    assert.equal(await control.sendPushes(push), 'started');
    const options = { taskQueue: 'test-runs', workflowIdReusePolicy: 'ALLOW_DUPLICATE' };
    assert.deepEqual(calls, [
      [3_000, 'start', 'callbackRetry', { ...options, workflowId: 'e1:callback:r1', args: [retry] }],
      [3_000, 'start', 'pushNotifications', { ...options, workflowId: 'e1:callback:push:p1', args: [push] }],
    ]);
    assert.equal(await open({ failures: { start: KNOWN } }).control.sendPushes(push), 'known');
    await assert.rejects(open({ failures: { start: grpcError(14) } }).control.retryCallback(retry), {
      name: 'EngineUncertain',
    });
  });

  it('delete all executions of a run, those that are deleted already too', async () => {
    for (const failures of [{}, { delete: grpcError(5) }]) {
      const { control, calls } = open({ listed: ['e1:step-1:1'], failures });
      await control.deleteRun('e1');
      const deleted = (execution: object) => [
        3_000,
        'delete',
        { namespace: 'a namespace', workflowExecution: execution },
      ];
      assert.deepEqual(calls, [
        [3_000, 'list', "WorkflowId STARTS_WITH 'e1'"],
        deleted({ workflowId: 'e1' }),
        deleted({ workflowId: 'e1:callback' }),
        deleted({ workflowId: 'e1:step-1:1', runId: 'run of e1:step-1:1' }),
      ]);
    }
    for (const failures of [{ delete: grpcError(14) }, { list: grpcError(14) }])
      await assert.rejects(open({ failures }).control.deleteRun('e1'), { name: 'EngineUnavailable' });
  });

  it('cancel the open workflows of agents, but not those that send', async () => {
    const listed = ['e1:plan', 'e1:step-1:1', 'e1:callback', 'e1:callback:push:p1'];
    for (const failures of [{}, { cancel: NOT_FOUND }]) {
      const { control, calls } = open({ listed, failures });
      await control.cancelAgents('e1');
      assert.deepEqual(calls, [
        [3_000, 'list', "WorkflowId STARTS_WITH 'e1:' and ExecutionStatus in ('Running', 'Paused')"],
        [3_000, 'cancel', 'e1:plan'],
        [3_000, 'cancel', 'e1:step-1:1'],
      ]);
    }
    await assert.rejects(open({ listed, failures: { cancel: grpcError(14) } }).control.cancelAgents('e1'), {
      name: 'EngineUnavailable',
    });
  });

  it('say whether Temporal responds', async () => {
    const { control, calls } = open();
    await control.ready();
    assert.deepEqual(calls, [[1_000, 'getSystemInfo', {}]]);
    await assert.rejects(open({ failures: { getSystemInfo: grpcError(14) } }).control.ready(), {
      name: 'EngineUnavailable',
    });
  });

  it('list the open runs on the queue in batches, without workflows of other programs, and end orphans', async () => {
    const id = (index: number) => `01890000-0000-7000-8000-${String(index).padStart(12, '0')}`;
    const listed = ['another-workflow', ...Array.from({ length: 501 }, (_, index) => id(index))];
    const { orphans, calls } = open({ listed });
    const batches: string[][] = [];
    for await (const batch of orphans.openRuns()) batches.push(batch);
    assert.deepEqual(
      batches.map((batch) => [batch.length, batch[0]]),
      [
        [499, id(0)],
        [2, id(499)],
      ],
    );
    await orphans.end('e1');
    const query =
      "TaskQueue = 'test-runs' and WorkflowType = 'taskRun' and ExecutionStatus in ('Running', 'Paused')";
    assert.deepEqual(
      calls.map(([, ...call]) => call),
      [
        ['list', query],
        ['terminate', 'e1', 'the run is not in the database'],
      ],
    );
    await open({ failures: { terminate: NOT_FOUND } }).orphans.end('e1');
    await assert.rejects(open({ failures: { terminate: grpcError(14) } }).orphans.end('e1'), /refused/);
  });
});

describe('the failure of a start', () => {
  const nameFor = (error: unknown) => startFailure(error).name;

  for (const [codes, name] of [
    [[3, 9], 'EngineRefusal'],
    [[5, 7, 8, 12, 16], 'EngineUnavailable'],
    [[1, 2, 4, 6, 10, 11, 13, 14, 15], 'EngineUncertain'],
  ] as const) {
    it(`is ${name} for the gRPC codes ${codes.join(', ')}`, () => {
      for (const code of codes) {
        assert.equal(nameFor(grpcError(code)), name, `${code}`);
        assert.equal(nameFor(new Error('failed', { cause: grpcError(code) })), name, `${code} as a cause`);
      }
    });
  }

  it('is uncertain without a code, and has the error as its cause', () => {
    const error = new Error('no response');
    assert.equal(nameFor(error), 'EngineUncertain');
    for (const one of [error, grpcError(3), grpcError(7)]) assert.equal(startFailure(one).cause, one);
  });
});

describe('the start of a stored run', () => {
  it('has the ids, the title and the time of its row', () => {
    const row = {
      id: 'e1',
      workspace_id: 'ws',
      project_id: 'p',
      title: 'A title',
      task_type: RUN.taskType,
      metadata: '{"rehearsal":{"steps":2}}',
      callback_url: 'https://example.com/',
      created_at: AT,
    };
    const { rehearsal, ...start } = runToStart(row, true);
    assert.deepEqual(start, {
      id: 'e1',
      workspaceId: 'ws',
      projectId: 'p',
      title: 'A title',
      taskType: RUN.taskType,
      hasCallback: true,
      hasPlan: true,
      createdAt: AT,
    });
    assert.ok(rehearsal);
    const without = runToStart({ ...row, metadata: '{}', callback_url: null }, false);
    assert.deepEqual([without.rehearsal, without.hasCallback, without.hasPlan], [null, false, false]);
  });
});

describe('the queues beside the one of a workflow', () => {
  it('have its prefix', () => {
    const expected = {
      runs: 'a-runs-runs',
      agents: 'a-runs-agents',
      callbacks: 'a-runs-callbacks',
      deliveries: 'a-runs-deliveries',
    };
    assert.deepEqual(siblingQueues('a-runs-runs'), expected);
    assert.deepEqual(siblingQueues('a-runs-deliveries'), expected);
  });
});
