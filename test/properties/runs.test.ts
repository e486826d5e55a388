import { randomUUIDv7 } from 'node:crypto';
import * as fc from 'fast-check';
import type { RunChange } from '../../src/domain/tasks/run-change.ts';
import type { Step } from '../../src/domain/tasks/run-schemas.ts';
import { initialView, progressOf } from '../../src/domain/tasks/task-run.ts';
import { isTerminal, TASK_STATES } from '../../src/domain/tasks/task-states.ts';
import { useInstallation } from '../support/installation.ts';
import { actionsOf, holdsAsync, type PlansOf } from './property.ts';
import { createRunsPair, type RunsPair } from './runs-pair.ts';

const STORIES = 40;
const BEGUN = Date.UTC(2026, 0, 1);
/** The run with the callback, mostly. */
const run = fc.constantFrom(0, 0, 0, 1);
const isManual = fc.boolean();
const key = fc.constantFrom('one', 'two');

const ACTIONS = {
  record: [
    8,
    fc.record({
      run,
      /** Known keys are those of a repeat. */
      keys: fc.subarray(['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']),
      hasView: fc.constantFrom(true, true, true, false),
      state: fc.constantFrom(...TASK_STATES),
      steps: fc.array(fc.constantFrom('pending' as const, 'running' as const, 'completed' as const), {
        maxLength: 3,
      }),
      /** A pause made in the Web UI that the change records. */
      pausedAt: fc.constantFrom(null, null, null, 1, 2),
      pauseOver: fc.constantFrom(undefined, false, true),
      /** How old the view is that the change was made from; null: the workflow has made it. */
      behind: fc.constantFrom(null, null, null, 0, 1),
      /** The workflow task that writes; `second` continues `first`, and `reset` is a reset of it. */
      writer: fc.option(
        fc.record({
          runId: fc.constantFrom('first', 'first', 'second', 'reset'),
          events: fc.constantFrom(5, 8, 11),
        }),
      ),
    }),
  ],
  notePause: [1, fc.record({ run, pausedAt: fc.constantFrom(1, 2) })],
  signalled: [2, fc.record({ run, pausedAt: fc.constantFrom(1, 2) })],
  begin: [4, fc.record({ run, isManual, behind: fc.constantFrom(0, 0, 0, 1) })],
  end: [
    3,
    fc.record({
      run,
      which: fc.nat(2),
      status: fc.constantFrom('delivered' as const, 'failed' as const, null),
    }),
  ],
  withdraw: [1, fc.record({ run, which: fc.nat(2) })],
  giveUp: [1, fc.record({ run, isManual })],
  retry: [2, fc.record({ run })],
  claim: [
    2,
    fc.record({
      key,
      requestHash: fc.constantFrom('first', 'other'),
      actor: fc.constantFrom('a', 'b'),
      hours: fc.constantFrom(0, 0, 1, 30),
    }),
  ],
  takeOver: [
    2,
    fc.record({
      key,
      claimedHours: fc.constantFrom(0, 0, 1),
      hours: fc.constantFrom(0.01, 0.02, 0.03, 1.02),
    }),
  ],
  answer: [1, fc.record({ key })],
  release: [1, fc.record({ key })],
} as const;

type Plans = PlansOf<typeof ACTIONS>;
const action = actionsOf(ACTIONS);

describe('the statements that change runs and callbacks', function () {
  const fresh = useInstallation({ poolSize: 2 });

  it('do what the tables of the simulation do, for random stories', async () => {
    await holdsAsync(
      [fc.array(action, { minLength: 5, maxLength: 30 })],
      async (story) => {
        const pair = await createRunsPair(fresh);
        const actions = createActions(pair, fresh.installation.project_id);
        for (const one of story) {
          await actions[one.kind](one.plan as never);
          await pair.compareRows(JSON.stringify(one));
        }
        await readAll(pair);
      },
      STORIES,
    );
  });
});

/** Makes all calls that only read. */
async function readAll({ call, ids }: RunsPair): Promise<void> {
  const later = new Date(Date.now() + 60_000);
  const many = 100_000;
  await call('listUnstartedRuns', later, many);
  await call('listOpenRuns', later, { after: null, limit: many });
  await call('findOpenRuns', ids);
  await call('findEndedRuns', ids, later);
  await call('findUnrecordedPauses', ids);
  await call('listRunsAwaitingCallback', later, many);
  await call('listCallbackRetries', many);
  for (const id of ids) await call('findLastProgress', id, 'progress:');
}

function createActions(
  { call, callKeys, ids, tables }: RunsPair,
  scope: string,
): { [Kind in keyof Plans]: (plan: Plans[Kind]) => Promise<unknown> } {
  let passed = 0;
  const now = () => new Date(BEGUN + (passed += 1_000));
  const idOf = (index: number) => ids[index] ?? '';
  const rowOf = (index: number) => tables.runs.get(idOf(index));
  const retryOf = (index: number, manual: boolean) =>
    manual ? (rowOf(index)?.callback_retry_id ?? randomUUIDv7()) : null;
  const attemptsOf = (index: number) => tables.attempts.get(idOf(index)) ?? [];
  const attemptOf = (index: number, which: number) => attemptsOf(index).at(-1 - which)?.id ?? randomUUIDv7();
  const pauseAt = (number: number) => new Date(BEGUN - number * 1_000);

  return {
    async record({ run: index, behind, pausedAt, pauseOver, writer, ...plan }) {
      const at = now().toISOString();
      const change: RunChange = {
        executionId: idOf(index),
        view: plan.hasView ? viewOf(plan, at) : null,
        entries: plan.keys.map((name) => ({
          key: `progress:${name.charCodeAt(0)}`,
          type: 'agent.message',
          at,
          data: {},
        })),
        ...(pausedAt !== null && plan.hasView ? { enginePausedAt: pauseAt(pausedAt).toISOString() } : {}),
        ...(pauseOver === undefined ? {} : { enginePauseOver: pauseOver }),
        ...(writer
          ? { writer: { ...writer, continuedFrom: writer.runId === 'second' ? 'first' : null } }
          : {}),
      };
      if (behind === null) return await call('recordChange', change);
      return await call('recordChangeOfView', change, (rowOf(index)?.view_seq ?? 0) - behind);
    },
    notePause: async ({ run: index, pausedAt }) =>
      await call('recordEnginePause', idOf(index), pauseAt(pausedAt)),
    async signalled({ run: index, pausedAt }) {
      await call('listEnginePausedRuns', { signalled: false });
      await call('markEnginePauseSignalled', idOf(index), pauseAt(pausedAt));
      await call('listEnginePausedRuns', { signalled: true });
    },
    async begin({ run: index, isManual: manual, behind }) {
      const id = randomUUIDv7();
      const retryId = retryOf(index, manual);
      const request = { url: 'https://receiver.example.com/', request_headers: {}, request_body: '{}' };
      const begun = { id, execution_id: idOf(index), ...request, attempted_at: now(), retryId };
      await call('findPendingCallback', idOf(index), retryId);
      await call('beginAttempt', begun, attemptsOf(index).length - behind);
      await call('findBegunAttempt', id);
    },
    async end({ run: index, which, status }) {
      const at = now();
      const id = attemptOf(index, which);
      const entry = {
        key: `callback:${id}:${at.getTime()}`,
        type: 'callback.attempted' as const,
        at: at.toISOString(),
        data: {},
      };
      const ended = { ...ENDED, completed_at: at, next_attempt_at: status === null ? now() : null };
      await call('endAttempt', { id, executionId: idOf(index), ended, entry }, status);
    },
    withdraw: async ({ run: index, which }) =>
      await call('withdrawAttempt', { id: attemptOf(index, which), executionId: idOf(index) }),
    giveUp: async ({ run: index, isManual: manual }) =>
      await call('giveUpCallback', idOf(index), now(), retryOf(index, manual)),
    async retry({ run: index }) {
      const { workspace_id: workspaceId = '' } = rowOf(index) ?? {};
      const retry = { executionId: idOf(index), retryId: randomUUIDv7() };
      await call('requestCallbackRetry', { ...retry, workspaceId, actor: 'a test', now: now() });
    },
    claim: async ({ key: name, requestHash, actor, hours }) =>
      await callKeys((keys) =>
        keys.claim({
          scope,
          key: `${ids[0]} ${name}`,
          actor,
          requestHash,
          now: new Date(BEGUN + hours * 3_600_000),
        }),
      ),
    takeOver: async ({ key: name, claimedHours, hours }) => {
      const at = (time: number) => new Date(BEGUN + time * 3_600_000);
      const claim = { scope, key: `${ids[0]} ${name}`, claimedAt: at(claimedHours), takenAt: at(hours) };
      await call('takeOverClaim', claim);
    },
    answer: async ({ key: name }) =>
      await callKeys((keys) => keys.storeAnswer(scope, `${ids[0]} ${name}`, 'an answer')),
    release: async ({ key: name }) => await callKeys((keys) => keys.release(scope, `${ids[0]} ${name}`)),
  };
}

/** Returns a view with these steps. It need not be one that a run can have: the statements store any. */
function viewOf({ state, steps: statuses }: Pick<Plans['record'], 'state' | 'steps'>, at: string) {
  const steps = statuses.map((status, index) => stepOf(`step-${index}`, status, at));
  const { last_seq: _, ...view } = initialView();
  return {
    ...view,
    state,
    steps,
    progress: progressOf(steps),
    paused_from: state === 'paused' ? ('executing' as const) : null,
    paused_at: state === 'paused' ? at : null,
    paused_by: state === 'paused' ? 'a test' : null,
    started_at: at,
    completed_at: isTerminal(state) ? at : null,
    duration_ms: isTerminal(state) ? 1 : null,
  };
}

function stepOf(name: string, status: Step['status'], at: string): Step {
  const none = { started_at: null, completed_at: null, duration_ms: null, usage: null, error: null };
  // A summary tells which change a step is from.
  return { id: name, name, agent: 'developer', status, attempt: 1, summary: at, ...none };
}

const ENDED = {
  response_status: 500,
  response_headers: {},
  response_body: '',
  failure: 'status',
  message: null,
  address: '192.0.2.1',
  duration_ms: 3,
  reconnected: false,
};
