import assert from 'node:assert/strict';
import { inCheckout } from '../../dev/common/paths.ts';
import { useWorld } from '../support/world.ts';
import { endPrograms, startProgram } from './program.ts';

const PROGRAM = inCheckout('examples', 'approvals', 'approve.ts');

describe('the example that answers questions', function () {
  const world = useWorld();
  afterEach(endPrograms);

  const start = (filter: string, key = world.installation.api_key) =>
    startProgram([process.execPath, PROGRAM, filter], { BATON_URL: world.api.url, BATON_API_KEY: key });
  const submitted = async (question: string, team: string): Promise<string> => {
    const rehearsal = { steps: 1, ask: { step: 1, question } };
    const { json } = await world.submit({ title: `About ${team}`, metadata: { team, rehearsal } });
    await world.reaches(json.execution_id, 'paused');
    return json.execution_id;
  };

  it('sends the typed line to the agent that asked', async () => {
    const other = await submitted('Red or blue?', 'paint');
    const id = await submitted('With tax?', 'prices');
    const program = start('team=prices');
    await program.prints(/About prices.+\n.+ asks: With tax\?/);
    program.types('Without tax.');
    await program.prints(/The agent has the answer\./);
    await world.reaches(id, 'completed');
    const { json } = await world.send('GET', `/api/v1/tasks/${id}/events`);
    const answers = json.data.filter(({ data }: { data: { from?: string } }) => data.from === 'paused');
    assert.equal(answers[0].data.reason, 'Without tax.');
    program.hangUp();
    const { code, printed, stderr } = await program.ended;
    assert.equal(code, 0, stderr);
    assert.doesNotMatch(printed, /Red or blue/);
    assert.equal((await world.send('GET', `/api/v1/tasks/${other}`)).json.state, 'paused');
  });

  it('leaves a question after an empty line, and says if an answer came too late', async () => {
    const left = await submitted('Shall I?', 'tools');
    const program = start('team=tools');
    await program.prints(/Shall I\?/);
    program.types('');
    const late = await submitted('Now?', 'tools');
    await program.prints(/Now\?/);
    await world.send('POST', `/api/v1/tasks/${late}/continue`, { body: { reason: 'Yes' } });
    await world.reaches(late, 'completed');
    program.types('No');
    await program.prints(/Too late/);
    assert.equal((await world.send('GET', `/api/v1/tasks/${left}`)).json.state, 'paused');
  });

  it('ends with the reason if its filter or its key is wrong', async () => {
    const noValue = await start('prices').ended;
    assert.equal(noValue.code, 2);
    assert.match(noValue.stderr, /NAME=VALUE/);
    const noKey = await start('team=prices', 'bt_wrong').ended;
    assert.equal(noKey.code, 1);
    assert.match(noKey.stderr, /key/);
  });
});
