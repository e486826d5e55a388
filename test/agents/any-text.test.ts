import assert from 'node:assert/strict';
import { MAX_QUESTION_LENGTH, MAX_REASON_LENGTH } from '../../src/domain/common/limits.ts';
import { turnOf, type Script } from '../support/model-server.ts';
import { useModels } from './model-world.ts';

const person = { by: 'user:ada@example.com' };
/** PostgreSQL stores neither NUL nor half of a surrogate pair. */
const UNSTORABLE = 'a\u0000b\ud83dc';
const STORED = 'ab\ufffdc';

/** Models may write any text. Runs used to repeat the same failing write without end. */
describe('an agent that writes text which PostgreSQL cannot store', function () {
  const world = useModels();

  /** Calls one tool, then ends. */
  const calling =
    (name: string, args: Record<string, unknown>): Script =>
    (asked) =>
      turnOf(asked) === 1 ? { text: '', calls: [{ name, arguments: args }] } : { text: 'Done.' };
  const eventsOf = async (id: string, type: string) =>
    (await world.runs.events(id)).filter((event) => event.type === type);

  it('completes its step, and its summary and message lack those characters', async () => {
    const id = await world.play(() => ({ text: UNSTORABLE }));
    const row = await world.runs.reaches(id, 'completed');
    assert.equal(row.steps[0]?.summary, STORED);
    const [message] = await eventsOf(id, 'agent.message');
    assert.equal(message?.data['text'], STORED);
    const [call] = await world.calls(id);
    assert.equal(call?.output.content[0].text, STORED);
  });

  it('reports progress without those characters', async () => {
    const id = await world.play(calling('report_progress', { text: UNSTORABLE, percent: 10 }));
    await world.runs.reaches(id, 'completed');
    const [progress] = await eventsOf(id, 'step.progress');
    assert.equal(progress?.data['text'], STORED);
  });

  it('asks a question that is not cut within a character', async () => {
    const question = `${'x'.repeat(MAX_QUESTION_LENGTH - 1)}😀`;
    const id = await world.play(calling('ask_for_approval', { question }));
    const row = await world.runs.reaches(id, 'paused');
    assert.equal(row.question?.text, 'x'.repeat(MAX_QUESTION_LENGTH - 1));
    await world.runs.control.continue(id, person);
    await world.runs.reaches(id, 'completed');
  });

  it('escalates with a reason that is not cut within a character', async () => {
    const reason = `${'x'.repeat(MAX_REASON_LENGTH - 1)}😀`;
    const id = await world.play(calling('escalate_to_human', { reason }));
    const row = await world.runs.reaches(id, 'escalated');
    assert.equal(row.escalation?.reason, 'x'.repeat(MAX_REASON_LENGTH - 1));
  });

  it('can be cancelled while its question waits', async () => {
    const id = await world.play(calling('ask_for_approval', { question: UNSTORABLE }));
    const row = await world.runs.reaches(id, 'paused');
    assert.equal(row.question?.text, STORED);
    assert.deepEqual(
      (await world.runs.view(id)).question,
      row.question,
      'the workflow shows the stored text',
    );
    await world.runs.control.cancel(id, person);
    await world.runs.reaches(id, 'cancelled');
  });
});

describe('an agent whose model reports a number that PostgreSQL cannot store', function () {
  const world = useModels();

  it('fails its step at the last attempt, and the run ends', async () => {
    const id = await world.play(() => ({ text: 'Done.', tokens: [2 ** 31, 1] }));
    const row = await world.runs.reaches(id, 'failed');
    assert.deepEqual(
      row.errors.map(({ code, message }) => [code, message]),
      [['step_failed', 'PostgreSQL refuses a value (SQLSTATE 22003)']],
    );
    assert.equal(world.asked(id).length, 2, 'no call is repeated within an attempt');
  });
});

describe('a pause reason with such text', function () {
  const world = useModels();

  it('is recorded without those characters', async () => {
    const { id, open } = await world.hold();
    await world.runs.control.pause(id, { by: 'key:test', reason: UNSTORABLE });
    await world.runs.reaches(id, 'paused');
    const pause = (await world.runs.events(id)).findLast(({ type }) => type === 'state.changed');
    assert.equal(pause?.data['reason'], STORED);
    await world.runs.control.continue(id, { by: 'key:test' });
    open();
    await world.runs.reaches(id, 'completed');
  });
});
