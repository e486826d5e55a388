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

describe('a kill -9 during twenty runs', function () {
  this.timeout(300_000);
  const { service, receiver } = useService();

  it('of the API and the task worker loses or repeats no run', async () => {
    const { api, worker } = service;
    await killDuringRuns([api, worker]);
  });

  it('of the Temporal server loses or repeats no run', async () => {
    const { api, worker, temporal } = service;
    const before = [api.pid(), worker.pid()];
    await killDuringRuns([temporal]);
    assert.ok(api.isRunning() && worker.isRunning(), 'the other processes still run');
    assert.deepEqual([api.pid(), worker.pid()], before);
  });

  it('of PostgreSQL loses or repeats no run', async () => {
    const { api, worker, postgres } = service;
    await killDuringRuns([postgres]);
    assert.ok(api.isRunning() && worker.isRunning(), 'the other processes still run');
  });

  /** Starts runs and further submissions, kills and restarts the parts, and checks every run and callback. */
  async function killDuringRuns(parts: readonly Part[]): Promise<void> {
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
    const count = (outcome: string) =>
      submitted.filter((submission) => submission.outcome === outcome).length;
    printMetrics({
      'running at the kill': running.filter((run) => !isTerminal(run.state)).length,
      'ready after the restart': seconds(readyAt - restartedAt),
      'slowest run continues after the restart': seconds(pause),
      'all settled after the kill': seconds(settledAt - killedAt),
      'further submissions': `${count('taken')} accepted, ${count('refused')} refused, ${count('cut')} cut off`,
      'of those without 201, ran': others.filter(({ secret }) => secret === '').length,
    });
  }

  /** Waits until the service accepts submissions again. */
  async function untilAcceptedAgain(
    steady: { outcomes(): readonly SubmitOutcome[] },
    readyAt: number,
  ): Promise<void> {
    const before = steady.outcomes().length;
    await eventually(
      `submissions are accepted again, after ${Date.now() - readyAt} ms`,
      () =>
        steady
          .outcomes()
          .slice(before)
          .filter(({ outcome }) => outcome === 'taken').length >= 5,
    );
  }

  /**
   * Returns the runs of all further submissions. A submission with 201 must have one, a rejected one must not, an
   * interrupted one may. Only if the database dies between a commit and its response may a rejected submission have one
   * (`mayCommitWithoutResponse`).
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
    assert.equal(ids.size, stored.length, 'no submission has two runs');
    const accepted: SubmittedTask[] = [];
    for (const submission of submitted) {
      const id = ids.get(submission.mark);
      if (submission.outcome === 'taken') {
        assert.equal(id, submission.task.id, `${submission.mark} was accepted with 201 but is lost`);
        accepted.push(submission.task);
      } else {
        if (submission.outcome === 'refused') {
          assert.equal(submission.status, 503);
          assert.ok(Number(submission.retryAfter) > 0, 'the response has Retry-After');
          assert.ok(
            id === undefined || mayCommitWithoutResponse,
            `${submission.mark} was rejected but has a run`,
          );
        }
        if (id !== undefined) accepted.push({ id, secret: '', script: SHORT });
      }
    }
    return accepted;
  }
});
