import assert from 'node:assert/strict';
import { MAX_CALLS_PER_TURN } from '../../src/domain/common/limits.ts';
import { readRunUsage } from '../../src/database/agents/agent-calls.ts';
import { saidIn, turnOf, type Script } from '../support/model-server.ts';
import { eventually } from '../support/eventually.ts';
import { teamText, useModels } from './model-world.ts';

const isAbout = (step: string) => (asked: Parameters<typeof saidIn>[0]) =>
  saidIn(asked).includes(`Your step now: "${step}"`);

describe('an agent with a model', function () {
  const world = useModels();

  it('does the steps of a run, and the output names the model backend', async () => {
    const id = await world.play(
      (asked) => ({ text: isAbout('design')(asked) ? 'A plan.\n\nIn detail.' : 'Built.' }),
      {
        taskType: 'feature',
      },
    );
    const { output } = await world.runs.reaches(id, 'completed');
    assert.deepEqual(output, {
      backend: 'model',
      summary: '2 of 2 steps completed',
      steps: [
        {
          name: 'design',
          agent: 'ada',
          backend: 'model',
          summary: 'A plan.',
          result: 'A plan.\n\nIn detail.',
        },
        { name: 'build', agent: 'bob', backend: 'model', summary: 'Built.', result: 'Built.' },
      ],
      artifacts: [],
    });
  });

  it('gets the task, its instructions and the results of earlier steps', async () => {
    const id = await world.play(
      (asked) => ({ text: isAbout('design')(asked) ? 'Use two tables.' : 'Built.' }),
      {
        taskType: 'feature',
      },
    );
    await world.runs.reaches(id, 'completed');
    const [first, second] = world.asked();
    assert.ok(first && second);
    assert.deepEqual(
      first.messages.map(({ role }) => role),
      ['system', 'user'],
    );
    assert.match(saidIn(first), /You are Ada\./);
    assert.match(saidIn(first), /<task>\nA test #\d+#\n/);
    assert.match(saidIn(second), /You are Bob\./);
    assert.match(saidIn(second), /<result-of-earlier-step step="design" agent="ada">\nUse two tables\.\n/);
    assert.equal(first.authorization, 'Bearer sk-test-secret-key');
  });

  it('does not run if the task has a rehearsal script', async () => {
    const id = await world.play(() => ({ text: 'never' }), { taskType: 'bug', rehearsal: {} });
    const { output } = await world.runs.reaches(id, 'completed');
    assert.equal(output?.['backend'], 'rehearsal');
    assert.equal(world.asked().length, 0);
  });

  it('reports its messages and progress once each in the events of the run', async () => {
    const script: Script = (asked) =>
      turnOf(asked) === 1
        ? {
            text: 'Let me see.',
            calls: [{ name: 'report_progress', arguments: { text: 'half way', percent: 50 } }],
          }
        : { text: 'Found it.' };
    const id = await world.play(script);
    await world.runs.reaches(id, 'completed');
    const events = await world.runs.events(id);
    assert.deepEqual(
      events
        .filter(({ type }) => type === 'agent.message' || type === 'step.progress')
        .map(({ type, data }) => [type, data['text'], data['percent']]),
      [
        ['agent.message', 'Let me see.', undefined],
        ['step.progress', 'half way', 50],
        ['agent.message', 'Found it.', undefined],
      ],
    );
    assert.deepEqual(
      events.map(({ seq }) => seq),
      events.map((_, index) => index + 1),
    );
  });

  it('has its exact token usage counted in the steps and in the record', async () => {
    const script: Script = (asked) =>
      turnOf(asked) < 4
        ? {
            calls: [{ name: 'report_progress', arguments: { text: `turn ${turnOf(asked)}` } }],
            tokens: [1_000 + asked.number, 33],
          }
        : { text: 'Done.', tokens: [7, 1_234] };
    const before = { ...world.server.tokens };
    const id = await world.play(script, { taskType: 'feature' });
    const { steps } = await world.runs.reaches(id, 'completed');
    const served = {
      input_tokens: world.server.tokens.input - before.input,
      output_tokens: world.server.tokens.output - before.output,
    };
    const sum = (member: 'input_tokens' | 'output_tokens') =>
      steps.reduce((total, { usage }) => total + (usage?.[member] ?? 0), 0);
    assert.deepEqual({ input_tokens: sum('input_tokens'), output_tokens: sum('output_tokens') }, served);
    assert.deepEqual(
      steps.map(({ usage }) => usage?.model_calls),
      [4, 4],
    );
    const cost = (served.input_tokens * 2 + served.output_tokens * 8) / 1_000_000;
    const recorded = await readRunUsage(world.runs.database, id);
    assert.ok(recorded);
    assert.ok(Math.abs((recorded.cost_usd ?? 0) - cost) < 1e-9);
    assert.deepEqual({ ...recorded, cost_usd: 0 }, { ...served, model_calls: 8, cost_usd: 0 });
  });

  it('works in parallel with others if the plan allows it', async () => {
    const { id, open } = await world.hold(undefined, { taskType: 'spec' });
    await eventually('all three models are called', () => world.asked(id).length === 3);
    open();
    await world.runs.reaches(id, 'completed');
  });

  it('is named by agent and step in the Temporal Web UI', async () => {
    const id = await world.play(() => ({ text: 'Done.' }));
    const { steps } = await world.runs.reaches(id, 'completed');
    const child = world.runs.client.workflow.getHandle(`${id}:${steps[0]?.id}:1`);
    assert.equal(await (await child.describe()).staticSummary(), 'one · ada');
    const { events = [] } = await child.fetchHistory();
    const summaries = (events ?? []).flatMap(({ userMetadata }) =>
      userMetadata?.summary?.data ? [JSON.parse(Buffer.from(userMetadata.summary.data).toString())] : [],
    );
    assert.ok(summaries.includes('one · ada · model call 1'), JSON.stringify(summaries));
  });

  it('keeps its conversation out of the history of the run', async () => {
    const id = await world.play(() => ({ text: 'a very particular answer' }), {
      taskType: 'feature',
    });
    await world.runs.reaches(id, 'completed');
    await world.runs.client.workflow.getHandle(id).result();
    const { events } = await world.runs.client.workflow.getHandle(id).fetchHistory();
    assert.ok((events ?? []).length < 60, `${events?.length} events`);
  });

  it('writes no provider key into the histories', async () => {
    const id = await world.play(() => ({ text: 'Done.' }));
    const { steps } = await world.runs.reaches(id, 'completed');
    for (const name of [id, `${id}:${steps[0]?.id}:1`]) {
      const history = JSON.stringify(await world.runs.client.workflow.getHandle(name).fetchHistory());
      assert.ok(
        !history.includes('sk-test') &&
          !history.includes(Buffer.from('sk-test-secret').toString('base64').slice(0, 16)),
      );
    }
  });
});

describe('a tool call of a model', function () {
  const world = useModels();

  it('runs in parallel with others, and the results keep their order', async () => {
    const id = await world.play((asked) =>
      turnOf(asked) === 1
        ? {
            calls: [1, 2, 3].map((n) => ({
              name: 'report_progress',
              arguments: { text: `part ${n}`, percent: n },
            })),
          }
        : { text: 'Done.' },
    );
    await world.runs.reaches(id, 'completed');
    const answers = world.asked()[1]?.messages.filter(({ role }) => role === 'tool');
    assert.deepEqual(
      answers?.map(({ tool_call_id, content }) => [String(tool_call_id).replace(/call_\d+/, ''), content]),
      [
        ['_0', 'recorded'],
        ['_1', 'recorded'],
        ['_2', 'recorded'],
      ],
    );
    const calls = await world.calls(id);
    assert.deepEqual(
      calls.map(({ number, kind, name }) => [number, kind, name]),
      [
        [1, 'model', 'openai-compatible/test'],
        [2, 'tool', 'report_progress'],
        [3, 'tool', 'report_progress'],
        [4, 'tool', 'report_progress'],
        [5, 'model', 'openai-compatible/test'],
      ],
    );
  });

  it('returns an error for an unknown tool or invalid arguments', async () => {
    const id = await world.play((asked) =>
      turnOf(asked) === 1
        ? {
            calls: [
              { name: 'delete_everything', arguments: { really: true } },
              { name: 'report_progress', raw: '{"text": "ha' },
              { name: 'report_progress', arguments: { percent: 700 } },
              { name: 'report_progress', arguments: { percent: -1, text: 'less than nothing' } },
              { name: 'ask_for_approval', arguments: { question: ' ' } },
            ],
          }
        : { text: 'Well then.' },
    );
    await world.runs.reaches(id, 'completed');
    const answers = world.asked()[1]?.messages.filter(({ role }) => role === 'tool');
    assert.deepEqual(
      answers?.map(({ content }) => content),
      [
        'you have no tool delete_everything',
        'the arguments are not JSON',
        'text is required, and percent must be from 0 to 100',
        'text is required, and percent must be from 0 to 100',
        'question is required',
      ],
    );
    const failures = (await world.calls(id)).flatMap(({ failure }) => failure ?? []);
    assert.equal(failures.length, 5);
  });

  it('is one of 32 in a turn, and the others return an error', async () => {
    const calls = Array.from({ length: MAX_CALLS_PER_TURN + 1 }, (_, number) => ({
      name: 'report_progress',
      arguments: { text: `part ${number}` },
    }));
    const id = await world.play((asked) => (turnOf(asked) === 1 ? { calls } : { text: 'Well then.' }));
    await world.runs.reaches(id, 'completed');
    const answers = world.asked()[1]?.messages.filter(({ role }) => role === 'tool') ?? [];
    assert.deepEqual(
      [answers.length, answers.at(-2)?.content, answers.at(-1)?.content],
      [MAX_CALLS_PER_TURN + 1, 'recorded', 'at most 32 tools can be called at once'],
    );
    const made = (await world.calls(id)).filter(({ kind }) => kind === 'tool');
    assert.equal(made.length, MAX_CALLS_PER_TURN);
  });

  it('can escalate the run, and other calls of the same turn are not executed', async () => {
    const id = await world.play(() => ({
      calls: [
        { name: 'report_progress', arguments: { text: 'not recorded' } },
        { name: 'escalate_to_human', arguments: { reason: 'Which of the two?' } },
      ],
    }));
    const { escalation, steps } = await world.runs.reaches(id, 'escalated');
    assert.deepEqual(
      [escalation?.reason, escalation?.agent, escalation?.step],
      ['Which of the two?', 'ada', 'one'],
    );
    assert.equal(steps[0]?.usage?.model_calls, 1);
    assert.ok(!(await world.runs.events(id)).some(({ type }) => type === 'step.progress'));
  });
});

describe('the third agent of a run', function () {
  const steps = ['design', 'build', 'check'].map((step) => `{ step: ${step}, agent: ada }`);
  const world = useModels({ agents: teamText().replace('{ step: one, agent: ada }', steps.join(', ')) });

  it('gets the results of both steps before', async () => {
    const id = await world.play((asked) => ({ text: isAbout('design')(asked) ? 'Two tables.' : 'Built.' }), {
      taskType: 'bug',
    });
    await world.runs.reaches(id, 'completed');
    const said = saidIn(world.asked()[2] ?? assert.fail('two steps only'));
    assert.match(said, /<result-of-earlier-step step="design" agent="ada">\nTwo tables\.\n/);
    assert.match(said, /<result-of-earlier-step step="build" agent="ada">\nBuilt\.\n/);
  });
});
