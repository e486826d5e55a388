import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import { TaskState as A2aState } from '@a2a-js/sdk';
import type { Client as A2aClient } from '@a2a-js/sdk/client';
import type { Client as McpClient } from '@modelcontextprotocol/client';
import type { TerminalState } from '../../src/domain/tasks/task-states.ts';
import { call, connect } from '../mcp/client.ts';
import { a2aClient, shownPositions } from '../support/a2a-client.ts';
import { eventually } from '../support/eventually.ts';
import { a2aCaller, type Following, type Streamed } from './a2a-caller.ts';
import { extensionCaller, request, toolCaller } from './mcp-caller.ts';
import { printMetrics, seconds } from './metrics.ts';
import { PLANS, runTask, type PlannedTask, type TaskCaller } from './protocol-tasks.ts';
import { allRuns, eventsOf } from './service-runs.ts';
import { useService } from './shared-service.ts';

const DOWN_MS = 2_000;
const INTERVAL_MS = 3_000;
const MOST_AT_ONCE = 40;
/**
 * For what hangs. A message whose first request was interrupted can be sent again successfully after a minute, and while
 * many tasks are pending no others are submitted.
 */
const LIMIT_MS = 240_000;

/** The states of tasks over A2A, by the states of their runs. */
const A2A_STATES: Readonly<Record<TerminalState, A2aState>> = {
  completed: A2aState.TASK_STATE_COMPLETED,
  failed: A2aState.TASK_STATE_FAILED,
  escalated: A2aState.TASK_STATE_FAILED,
  cancelled: A2aState.TASK_STATE_CANCELED,
};

/** Creates the caller of a task, which adds what its streams sent to `streams`. */
type CreateCaller = (task: PlannedTask, streams: Streamed[]) => TaskCaller;

/** A task whose caller has followed it to its end. `isResumed`: each stream continued after the last event of the one before. */
type FollowedTask = { task: PlannedTask; id: string; streams: Streamed[]; isResumed: boolean };

describe('callers over MCP and A2A', function () {
  this.timeout(1_200_000);
  const { service } = useService();
  let clients: { rpc: A2aClient; rest: A2aClient; newest: McpClient; earlier: McpClient };
  let address: { url: string; key: string };
  let ended: AbortController;

  beforeEach(async () => {
    address = { url: service.url, key: service.installation.api_key };
    ended = new AbortController();
    const { url, key } = address;
    const world = { api: { url }, installation: { api_key: key } };
    clients = {
      rpc: await a2aClient(url, key, 'JSONRPC'),
      rest: await a2aClient(url, key, 'HTTP+JSON'),
      newest: await connect(world),
      earlier: await connect(world, { protocol: '2025-11-25' }),
    };
  });

  afterEach(() => ended.abort(new Error('the test has ended')));

  it('lose nothing and get nothing twice while every part is killed', async () => {
    const load = startLoad(kindsOfCallers(), ended.signal);
    const { api, postgres, temporal, worker } = service;
    for (const part of [api, postgres, temporal, worker, api]) {
      await load.untilAllAccepted();
      // These submissions are in progress at the kill.
      load.submitByAll();
      await part.kill();
      await wait(DOWN_MS);
      await part.start();
    }
    await load.untilAllAccepted();
    const stoppedAt = Date.now();
    const followed = await load.stop();
    const overAt = Date.now();

    const runs = Map.groupBy(await allRuns(service), ({ metadata }) => metadata['mark']);
    for (const one of followed) {
      const ids = runs.get(one.task.mark)?.map((run) => run.execution_id);
      assert.deepEqual(ids, [one.id], `${one.task.mark} has one run`);
      await assertSameOverAll(one);
      await assertAllReceived(one);
    }
    printMetrics({
      tasks: followed.length,
      'A2A streams': followed.flatMap(({ streams }) => streams).length,
      'all over after the last submission': seconds(overAt - stoppedAt),
    });
  });

  function kindsOfCallers(): Record<string, CreateCaller> {
    const { rpc, rest, newest, earlier } = clients;
    const overA2a =
      (client: A2aClient, following: Following): CreateCaller =>
      (task, streams) =>
        a2aCaller(client, task, following, streams);
    return {
      'a2a-polls': overA2a(rest, 'polls'),
      'a2a-subscribes': overA2a(rpc, 'subscribes'),
      'a2a-rpc-resumes': overA2a(rpc, 'resumes'),
      'a2a-rest-resumes': overA2a(rest, 'resumes'),
      'mcp-tools': (task) => toolCaller(newest, task),
      'mcp-earlier-tools': (task) => toolCaller(earlier, task),
      'mcp-polls': (task) => extensionCaller(address, task, 'polls'),
      'mcp-listens': (task) => extensionCaller(address, task, 'listens'),
    };
  }

  /** Asserts that the task has its planned end, over every protocol. */
  async function assertSameOverAll({ task: { mark, plan }, id }: FollowedTask): Promise<void> {
    const { json: run } = await service.send('GET', `/api/v1/tasks/${id}`);
    assert.equal(run.state, plan.end, mark);
    const overA2a = await clients.rpc.getTask({ tenant: '', id });
    assert.equal(overA2a.status?.state, A2A_STATES[plan.end], mark);
    assert.equal(overA2a.metadata?.['state'], plan.end, mark);
    assert.deepEqual(await call(clients.newest, 'get_task', { execution_id: id }), run, mark);
    const { status, result } = await request(address, 'tasks/get', { taskId: id });
    assert.equal(status, plan.end === 'cancelled' ? 'cancelled' : 'completed', mark);
    if (result) assert.deepEqual(result.structuredContent, run, mark);
  }

  /** Asserts that the run was answered once, and that its streams have sent each event once, in order, and none twice. */
  async function assertAllReceived({ task: { mark, plan }, id, streams, isResumed }: FollowedTask) {
    const events = await eventsOf(service, id);
    const message = `${mark} received ${JSON.stringify(streams)} of ${JSON.stringify(events)}`;
    const answers = events.filter(({ data }) => data.reason !== undefined && data.reason === plan.answer);
    assert.equal(answers.length, plan.answer === undefined ? 0 : 1, message);
    for (const { after, positions } of streams)
      assert.deepEqual(positions, shownPositions(events, after).slice(0, positions.length), message);
    const [first] = streams;
    if (!isResumed || !first) return;
    assert.deepEqual(
      streams.flatMap(({ positions }) => positions),
      shownPositions(events, first.after),
      message,
    );
  }
});

/**
 * Has callers of all kinds submit tasks of all plans until it is stopped or `signal` is aborted. Each follows its task to
 * its end.
 */
function startLoad(kinds: Record<string, CreateCaller>, signal: AbortSignal) {
  const tasks: Promise<FollowedTask>[] = [];
  const failures: Error[] = [];
  /** The pending tasks, each with its last attempt. */
  const pending = new Map<string, string>();
  const acceptedCounts = new Map(Object.keys(kinds).map((kind) => [kind, 0]));
  let rounds = 0;
  let isStopped = false;

  async function follow(kind: string, create: CreateCaller, task: PlannedTask): Promise<FollowedTask> {
    const streams: Streamed[] = [];
    const onAccepted = () => void acceptedCounts.set(kind, (acceptedCounts.get(kind) ?? 0) + 1);
    const onAttempt = (what: string, failure: Error | null) =>
      void pending.set(task.mark, `${what}${failure ? `, after ${failure.message}` : ''}`);
    const id = await runTask(create(task, streams), task, { onAccepted, onAttempt, signal }).finally(() =>
      pending.delete(task.mark),
    );
    return { task, id, streams, isResumed: kind.endsWith('-resumes') };
  }

  function submitByAll(): void {
    rounds += 1;
    for (const [index, [kind, create]] of Object.entries(kinds).entries()) {
      const plan = PLANS[(rounds + index) % PLANS.length];
      if (!plan) throw new RangeError('no such plan');
      const mark = `${kind}-${rounds}`;
      const task = follow(kind, create, { mark, title: `A task of ${mark}`, plan });
      task.catch((error: Error) => failures.push(error));
      tasks.push(task);
    }
  }

  async function submitSteadily(): Promise<void> {
    // A slow machine gets no more than it can do.
    for (; !isStopped && !signal.aborted; await wait(INTERVAL_MS))
      if (pending.size < MOST_AT_ONCE) submitByAll();
  }

  const submitting = submitSteadily();
  return {
    submitByAll,
    /** Waits until a further submission of each kind of caller is accepted. @throws AssertionError if a caller has failed */
    async untilAllAccepted(): Promise<void> {
      const before = new Map(acceptedCounts);
      await eventually(
        'further submissions of all callers are accepted',
        () => {
          assert.deepEqual(failures, []);
          return [...acceptedCounts].every(([kind, count]) => count > (before.get(kind) ?? 0));
        },
        LIMIT_MS,
      );
    },
    /** Stops the submissions, and returns the tasks when all are over. @throws AssertionError if a caller has failed */
    async stop(): Promise<FollowedTask[]> {
      isStopped = true;
      await submitting;
      await eventually('all tasks are over', () => pending.size === 0, LIMIT_MS).catch((error: Error) => {
        const left = [...pending].map(([mark, attempt]) => `${mark} (last attempt to be ${attempt})`);
        throw new Error(`${error.message}, except ${left.join(', ')}`);
      });
      await Promise.allSettled(tasks);
      assert.deepEqual(failures, []);
      return await Promise.all(tasks);
    },
  };
}
