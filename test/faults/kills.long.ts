import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import { isTerminal } from '../../src/domain/tasks/task-states.ts';
import { eventually } from '../support/eventually.ts';
import type { Part } from '../support/service.ts';
import { printMetrics, seconds } from './metrics.ts';
import { mixedScripts, SHORT } from './mixed-tasks.ts';
import {
  allRuns,
  assertAllDelivered,
  longestPause,
  submitAll,
  untilInProgress,
  untilSettled,
  type SubmittedTask,
} from './service-runs.ts';
import { submitSteadily, type SubmitOutcome } from './steady-submitter.ts';
import { useService } from './shared-service.ts';

const TASKS = 20;
const DOWN_MS = 2_000;

describe('a kill -9 in the middle of twenty runs changes nothing of what becomes of them', function () {
  this.timeout(300_000);
  const { service, receiver } = useService();

  it('of the API and the task worker', async () => {
    const { api, worker } = service;
    await killInTheMiddle([api, worker]);
  });

  it('of the Temporal server', async () => {
    const { api, worker, temporal } = service;
    const before = [api.pid(), worker.pid()];
    await killInTheMiddle([temporal]);
    assert.ok(api.isRunning() && worker.isRunning(), 'the other processes live on');
    assert.deepEqual([api.pid(), worker.pid()], before);
  });

  it('of PostgreSQL', async () => {
    const { api, worker, postgres } = service;
    await killInTheMiddle([postgres]);
    assert.ok(api.isRunning() && worker.isRunning(), 'the other processes live on');
  });

  /** The whole course: twenty runs, others submitted on the way, the kill, the restart, and every promise. */
  async function killInTheMiddle(parts: readonly Part[]): Promise<void> {
    const earlier = new Set((await allRuns(service)).map((run) => run.execution_id));
    const tasks = await submitAll(service, receiver, mixedScripts(TASKS));
    const steady = submitSteadily(service, receiver);
    const running = await untilInProgress(service, tasks);
    const killedAt = Date.now();
    await Promise.all(parts.map((part) => part.kill()));
    await wait(DOWN_MS);
    const restartedAt = Date.now();
    await Promise.all(parts.map((part) => part.start()));
    const readyAt = Date.now();
    await untilAcceptedAgain(steady, readyAt);
    const submitted = await steady.stop();
    const others = await acceptedRuns(earlier, tasks, submitted, parts.includes(service.postgres));
    const all = [...tasks, ...others];
    await untilSettled(service, all);
    const settledAt = Date.now();

    await assertAllDelivered(service, receiver, all);
    const pause = await longestPause(
      service,
      running.map((run) => run.execution_id),
      restartedAt,
    );
    const count = (outcome: string) => submitted.filter((one) => one.outcome === outcome).length;
    printMetrics({
      'under way at the kill': running.filter((run) => !isTerminal(run.state)).length,
      'ready after the restart': seconds(readyAt - restartedAt),
      'slowest run goes on after the restart': seconds(pause),
      'all settled after the kill': seconds(settledAt - killedAt),
      'submitted meanwhile': `${count('taken')} taken, ${count('refused')} refused, ${count('cut')} cut off`,
      'of those without 201, ran': others.filter(({ secret }) => secret === '').length,
    });
  }

  /** Submissions are taken again by themselves once the part is back. */
  async function untilAcceptedAgain(
    steady: { outcomes(): readonly SubmitOutcome[] },
    readyAt: number,
  ): Promise<void> {
    const before = steady.outcomes().length;
    await eventually(
      `submissions are taken again, after ${Date.now() - readyAt} ms`,
      () =>
        steady
          .outcomes()
          .slice(before)
          .filter(({ outcome }) => outcome === 'taken').length >= 5,
    );
  }

  /**
   * All runs that the submissions on the way have led to. What was answered 201 must be there; what was refused
   * must not; what was cut off may be. Only a database that dies between a commit and its answer leaves the API
   * itself in the dark (`mayCommitUnheard`).
   */
  async function acceptedRuns(
    earlier: ReadonlySet<string>,
    first: readonly SubmittedTask[],
    submitted: readonly SubmitOutcome[],
    mayCommitWithoutResponse: boolean,
  ): Promise<SubmittedTask[]> {
    const known = new Set([...earlier, ...first.map(({ id }) => id)]);
    const stored = (await allRuns(service)).filter((run) => !known.has(run.execution_id));
    const ids = new Map(stored.map((run) => [String(run.metadata['mark']), run.execution_id]));
    assert.equal(ids.size, stored.length, 'no submission is there twice');
    const truth: SubmittedTask[] = [];
    for (const one of submitted) {
      const id = ids.get(one.mark);
      if (one.outcome === 'taken') {
        assert.equal(id, one.task.id, `${one.mark} was answered 201 and is lost`);
        truth.push(one.task);
      } else {
        if (one.outcome === 'refused') {
          assert.equal(one.status, 503);
          assert.ok(Number(one.retryAfter) > 0, 'with Retry-After');
          assert.ok(id === undefined || mayCommitWithoutResponse, `${one.mark} was refused and is there`);
        }
        if (id !== undefined) truth.push({ id, secret: '', script: SHORT });
      }
    }
    return truth;
  }
});
