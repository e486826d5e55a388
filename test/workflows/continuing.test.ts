import assert from 'node:assert/strict';
import { setTimeout } from 'node:timers/promises';
import { projectAttribute, stateAttribute } from '../../src/temporal/task-messages.ts';
import { useModels } from '../agents/model-world.ts';
import { saidIn, turnOf, type Script } from '../support/model-server.ts';
import {
  assertContinued,
  continues,
  executionsOf,
  feedOf,
  pauseUntilContinued,
  submitLong,
} from '../support/long-runs.ts';
import { eventually } from '../support/eventually.ts';

const me = { by: 'key:test' };
const QUESTION = { question: 'May I?' };

/**
 * Runs that continue as new executions from a history of some dozens of events. The limits of real runs are in
 * src/domain/tasks/run-change.ts.
 */
describe('a run with a long history', function () {
  this.timeout(120_000);
  const world = useModels();

  const asking: Script = (asked) =>
    turnOf(asked) === 1
      ? { text: '', calls: [{ name: 'ask_for_approval', arguments: QUESTION }] }
      : { text: 'Done.' };

  it('stays paused, and continues in the state it was paused from', async () => {
    const id = await submitLong(world.runs, 40, { rehearsal: { steps: 1, start_ms: 60_000 } });
    await world.runs.control.pause(id, me);
    const { paused_at } = await world.runs.reaches(id, 'paused');
    const continued = pauseUntilContinued(world.runs, id, 3).then(() => true);
    const answers = new Set<string | undefined>();
    while (!(await Promise.race([continued, setTimeout(20, false)])))
      answers.add((await world.runs.control.view(id))?.state);
    const view = await world.runs.view(id);
    // Temporal may not have answered in time before, on a slow machine not once.
    answers.add(view.state).delete(undefined);
    assert.deepEqual([...answers], ['paused']);
    assert.deepEqual(
      [view.state, view.paused_from, view.paused_by, view.paused_at],
      ['paused', 'initializing', me.by, paused_at?.toISOString()],
    );
    await world.runs.control.continue(id, me);
    await world.runs.reaches(id, 'initializing');
    await world.runs.control.cancel(id, me);
    await world.runs.reaches(id, 'cancelled');
    assert.deepEqual(await feedOf(world.runs, id), [
      'initializing → paused',
      'paused → initializing',
      'initializing → cancelled',
      'run.ended',
    ]);
  });

  it('waits on for the answer to its question, also while no worker is there', async () => {
    const rehearsal = { steps: 2, ask: { step: 1, ...QUESTION } };
    const id = await submitLong(world.runs, 30, { rehearsal });
    const { question } = await world.runs.reaches(id, 'paused');
    await pauseUntilContinued(world.runs, id, 2);
    await world.runs.restartWorker(async () => {
      for (let n = 0; n < 30; n += 1) await world.runs.control.pause(id, me);
    });
    await continues(world.runs, id, 3);
    assert.deepEqual((await world.runs.view(id)).question, question);
    await world.runs.control.continue(id, { ...me, question: '2' });
    assert.equal((await world.runs.view(id)).state, 'paused', 'that was another question');
    await world.runs.control.continue(id, { ...me, question: question?.id ?? '' });
    await world.runs.reaches(id, 'completed');
    const feed = await feedOf(world.runs, id);
    assert.equal(feed.filter((line) => line.endsWith('→ paused')).length, 1, 'it asks once');
    assert.equal(feed.filter((line) => line === 'step.started step-1 1').length, 1);
  });

  it('keeps an answer that came before its question', async () => {
    const { id, open } = await world.hold(asking, { historyEvents: 40 });
    await eventually('the agent is running', () => world.asked(id).length === 1);
    await world.runs.control.pause(id, me);
    await world.runs.reaches(id, 'paused');
    await world.runs.control.continue(id, { ...me, reason: 'yes', question: '1' });
    await pauseUntilContinued(world.runs, id, 2);
    open();
    await world.runs.control.continue(id, me);
    await world.runs.reaches(id, 'completed');
    const answered = (await world.runs.events(id)).filter(({ data }) => data['reason'] === 'yes');
    assert.equal(answered.length, 1);
  });

  it('keeps its search attributes', async () => {
    const rehearsal = { ask: { step: 2, ...QUESTION } };
    const id = await submitLong(world.runs, 30, { rehearsal });
    await world.runs.reaches(id, 'paused');
    await pauseUntilContinued(world.runs, id, 2);
    const { typedSearchAttributes: found } = await world.runs.client.workflow.getHandle(id).describe();
    assert.equal(found.get(stateAttribute), 'paused');
    assert.equal(found.get(projectAttribute), world.runs.installation.project_id);
    await world.runs.control.cancel(id, me);
    await world.runs.reaches(id, 'cancelled');
  });

  it('keeps an agent with a model running, and signals pauses to it', async () => {
    const opened = Promise.withResolvers<void>();
    const script: Script = async () => {
      await opened.promise;
      return { text: 'Done.' };
    };
    const id = await world.play(script, { historyEvents: 60 });
    await eventually('the agent is running', () => world.asked(id).length === 1);
    await eventually('3 executions', async () => {
      await world.runs.control.pause(id, me);
      await world.runs.reaches(id, 'paused');
      await world.runs.control.continue(id, me);
      await world.runs.reaches(id, 'executing');
      return (await executionsOf(world.runs, id)).length >= 3;
    });
    opened.resolve();
    const row = await world.runs.reaches(id, 'completed');
    await assertContinued(world.runs, id);
    assert.equal(world.asked(id).length, 1, 'nothing is asked again');
    assert.deepEqual([row.steps[0]?.attempt, row.steps[0]?.usage?.model_calls], [1, 1]);
    await feedOf(world.runs, id);
    const agents = await executionsOf(world.runs, `${id}:${row.steps[0]?.id}:1`);
    assert.equal(agents.length, 1);
    const { events } = await world.runs.client.workflow.getHandle(agents[0]?.workflowId ?? '').fetchHistory();
    const heard = events?.flatMap(({ workflowExecutionSignaledEventAttributes: signal }) => signal ?? []);
    // A pause that is over before the agent received it is not passed on.
    assert.ok(heard && heard.length > 0 && heard.length % 2 === 0, `${heard?.length} signals`);
    assert.deepEqual(
      heard.map(({ signalName }) => signalName),
      heard.map((_, n) => (n % 2 === 0 ? 'pause' : 'continue')),
    );
  });

  it('passes the answer on to an agent with a model that asked before', async () => {
    const id = await world.play(asking, { historyEvents: 30 });
    const { question } = await world.runs.reaches(id, 'paused');
    await pauseUntilContinued(world.runs, id, 3);
    await world.runs.control.continue(id, { ...me, reason: 'only on Monday', question: question?.id ?? '' });
    await world.runs.reaches(id, 'completed');
    const [, second] = world.asked(id);
    assert.ok(second);
    assert.match(saidIn(second), /only on Monday/);
  });

  it('does not keep its worker from shutting down while it follows an agent, nor after its end', async () => {
    const ids: string[] = [];
    for (const _ of ['answered', 'terminated']) {
      const id = await world.play(asking, { historyEvents: 30 });
      await world.runs.reaches(id, 'paused');
      await pauseUntilContinued(world.runs, id, 2);
      await eventually('the agent is followed', async () => {
        const { raw } = await world.runs.client.workflow.getHandle(id).describe();
        return raw.pendingActivities?.some(({ activityType }) => activityType?.name === 'followAgent');
      });
      ids.push(id);
    }
    const [answered = '', terminated = ''] = ids;
    await world.runs.client.workflow.getHandle(terminated).terminate('enough');
    await world.runs.restartWorker();
    await world.runs.control.continue(answered, me);
    await world.runs.reaches(answered, 'completed');
    await world.runs.reaches(terminated, 'cancelled');
  });

  it('ends its agents when somebody ends it, in its first execution or a later one', async () => {
    const ends = async (how: 'cancel' | 'terminate', executions: 1 | 2) => {
      const id = await world.play(asking, { historyEvents: executions === 1 ? 4_000 : 30 });
      const { steps } = await world.runs.reaches(id, 'paused');
      await pauseUntilContinued(world.runs, id, executions);
      if (how === 'cancel') await world.runs.control.cancel(id, me);
      else await world.runs.client.workflow.getHandle(id).terminate('enough');
      await world.runs.reaches(id, 'cancelled');
      const agent = world.runs.client.workflow.getHandle(`${id}:${steps[0]?.id}:1`);
      await eventually(`the agent is cancelled after ${how} in execution ${executions}`, async () => {
        return (await agent.describe()).status.name === 'CANCELLED';
      });
      assert.equal((await feedOf(world.runs, id)).at(-1), 'run.ended');
    };
    await Promise.all([ends('cancel', 1), ends('terminate', 1), ends('cancel', 2), ends('terminate', 2)]);
  });
});
