import assert from 'node:assert/strict';
import { useRuns } from '../support/runs.ts';

const QUESTION = 'May I drop the old table?';
const person = { by: 'user:ada@example.com' };

describe('an agent that asks a person', function () {
  const runs = useRuns();

  const asking = (step = 1, more = {}) =>
    runs.submit({ taskType: 'bug', rehearsal: { ask: { step, question: QUESTION }, ...more } });
  const changes = async (id: string) =>
    (await runs.events(id)).filter(({ type }) => type === 'state.changed').map(({ data }) => data);

  it('pauses the run under its own name, with the question', async () => {
    const id = await asking(2);
    const row = await runs.reaches(id, 'paused');
    assert.equal(row.paused_by, 'agent:developer');
    assert.equal(row.paused_from, 'executing');
    const { at, ...question } = row.question ?? { at: '' };
    assert.deepEqual(question, { id: '1', step: 'fix', agent: 'developer', text: QUESTION });
    assert.equal(at, row.paused_at?.toISOString());
    assert.deepEqual(
      row.steps.map(({ status }) => status),
      ['completed', 'running', 'pending'],
    );
    const view = await runs.view(id);
    assert.deepEqual(view.question, row.question);
    assert.deepEqual((await changes(id)).at(-1), {
      from: 'executing',
      to: 'paused',
      by: 'agent:developer',
      question: row.question,
    });
    await runs.control.cancel(id, person);
  });

  it('continues with the reply when a person continues the run', async () => {
    const id = await asking(1);
    await runs.reaches(id, 'paused');
    await runs.control.continue(id, { ...person, reason: 'yes, after a backup' });
    const row = await runs.reaches(id, 'completed');
    assert.equal(row.question, null);
    const message = (await runs.events(id)).find(({ type }) => type === 'agent.message');
    assert.match(String(message?.data['text']), /\. ada@example\.com answered: yes, after a backup$/);
    assert.deepEqual((await changes(id)).at(-2), {
      from: 'paused',
      to: 'executing',
      by: person.by,
      reason: 'yes, after a backup',
    });
  });

  it('also continues without a reason', async () => {
    const id = await asking(1);
    await runs.reaches(id, 'paused');
    await runs.control.continue(id, person);
    await runs.reaches(id, 'completed');
  });

  it('stays paused until a person continues the run', async () => {
    const id = await asking(1);
    await runs.reaches(id, 'paused');
    await runs.control.pause(id, person);
    // Temporal handles a query after the signals before it.
    const view = await runs.view(id);
    assert.deepEqual([view.state, view.paused_by], ['paused', 'agent:tester']);
    assert.equal((await runs.row(id)).state, 'paused');
    await runs.control.cancel(id, person);
  });

  for (const [state, member] of [
    ['failed', 'unrecoverable'],
    ['escalated', 'escalate'],
  ] as const) {
    it(`withdraws its question if another step has ended the run: ${state}`, async () => {
      const id = await runs.submit({
        taskType: 'feature',
        rehearsal: { step_ms: 500, ask: { step: 3, question: QUESTION }, [member]: { step: 4 } },
      });
      const row = await runs.reaches(id, state);
      assert.equal(row.question, null);
      assert.deepEqual(
        row.steps.slice(2, 4).map(({ status }) => status),
        ['cancelled', 'failed'],
      );
      const [asked, withdrawn, ended] = (await changes(id)).slice(-3);
      assert.deepEqual([asked?.['to'], withdrawn?.['to'], ended?.['to']], ['paused', 'executing', state]);
      assert.match(String(withdrawn?.['reason']), /^The question is withdrawn/);
    });
  }

  it('ends with its run if a person cancels the run', async () => {
    const id = await asking(1);
    await runs.reaches(id, 'paused');
    await runs.control.cancel(id, { ...person, reason: 'no' });
    const row = await runs.reaches(id, 'cancelled');
    assert.equal(row.question, null);
    assert.equal(row.steps[0]?.status, 'cancelled');
  });

  for (const [when, answering] of [
    ['in an earlier workflow task', (answer) => answer()],
    ['in the same one', (answer) => runs.restartWorker(answer)],
  ] as [string, (answer: () => Promise<void>) => Promise<void>][])
    it(`gets an answer that its workflow receives before it asks (again), ${when}`, async () => {
      const id = await asking(2, { step_ms: 1_000 });
      await runs.reaches(id, 'executing');
      const answer = { ...person, reason: 'yes' };
      await answering(async () => {
        // The second question is never asked. An answer to it changes nothing.
        await runs.control.continue(id, { ...answer, question: '2' });
        await runs.control.continue(id, { ...answer, question: '1' });
      });
      await runs.reaches(id, 'completed');
      const [paused, continued] = (await changes(id)).slice(-3);
      assert.match(JSON.stringify(paused), /"to":"paused".*drop the old table/);
      assert.deepEqual(continued, { from: 'paused', to: 'executing', ...answer });
    });

  it('keeps its question through a restart of the worker, without asking twice', async () => {
    const id = await asking(1);
    await runs.reaches(id, 'paused');
    await runs.restartWorker();
    await runs.control.continue(id, person);
    await runs.reaches(id, 'completed');
    const pauses = (await changes(id)).filter(({ to }) => to === 'paused');
    assert.equal(pauses.length, 1);
  });
});
