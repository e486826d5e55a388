import assert from 'node:assert/strict';
import { eventually } from '../support/eventually.ts';
import { turnOf, type Reply } from '../support/model-server.ts';
import { teamText, useModels } from './model-world.ts';

/** Returns a script that gives these replies first, then a good one. */
function first(...replies: Reply[]): () => Reply {
  let count = 0;
  return () => replies[count++] ?? { text: 'Done.' };
}

const CATALOGUE = `
agents:
  ada: { instructions: You are Ada. }
  slow: { instructions: You are slow., limits: { call_time: 2 s } }
  eve: { instructions: You are Eve., model: anthropic/test }
defaults: { run_time_limit: 10 min, step_time_limit: 5 min, retry: { maximum_attempts: 2, initial_interval: 10 ms, backoff_coefficient: 1, maximum_interval: 10 ms } }
teams:
  feature: [{ step: one, agent: slow }]
  bug: [{ step: one, agent: ada }]
  spec: [{ step: one, agent: eve }]
  chore: [{ step: one, agent: ada }]
`;

describe('a model call', function () {
  const world = useModels({ agents: CATALOGUE, environment: { OPENAI_API_KEY: 'sk-another-secret' } });
  const ids = new Map<string, string>();
  const idOf = (what: string) => ids.get(what) ?? assert.fail(what);
  before(async () => {
    // The runs share the wait before the retry.
    for (const [what, reply] of PASSING) ids.set(what, await world.play(first(reply)));
    ids.set('a hang', await world.play(first({ trouble: 'hang' }), { taskType: 'feature' }));
    for (const [what, reply] of REFUSED) ids.set(what, await world.play(() => reply));
  });

  const PASSING: [string, Reply][] = [
    ['a 500', { status: 500, message: 'overloaded' }],
    ['a 429 without a time', { status: 429, message: 'slow down' }],
    ['a connection that is cut', { trouble: 'cut' }],
    ['an answer that is cut in the middle', { trouble: 'cut in the middle' }],
    ['broken JSON', { trouble: 'broken JSON' }],
  ];
  for (const what of [...PASSING.map(([name]) => name), 'a hang']) {
    it(`is retried after ${what}, without a trace in the run`, async () => {
      const id = idOf(what);
      const { steps, errors } = await world.runs.reaches(id, 'completed');
      // A slow machine can exceed the time limit of a call more than once.
      if (what === 'a hang') assert.ok(world.asked(id).length >= 2);
      else assert.equal(world.asked(id).length, 2);
      assert.equal(steps[0]?.attempt, 1);
      assert.equal(steps[0]?.usage?.model_calls, 1);
      assert.deepEqual(errors, []);
      assert.deepEqual(
        (await world.calls(id)).map(({ number, failure }) => [number, failure]),
        [[1, null]],
      );
    });
  }

  it('waits as long as the provider requests, and is attempted at most ten times', async () => {
    const id = await world.play(first({ status: 429, headers: { 'retry-after': '120' } }));
    const pending = await eventually('the call waits for its retry', async () => {
      const { steps } = await world.runs.row(id);
      const child = world.runs.client.workflow.getHandle(`${id}:${steps[0]?.id}:1`);
      const { raw } = await child.describe().catch(() => ({ raw: null }));
      return raw?.pendingActivities?.find(({ lastFailure }) => lastFailure) ?? null;
    });
    assert.equal(Number(pending.currentRetryInterval?.seconds), 120);
    assert.equal(pending.maximumAttempts, 10);
    assert.equal(world.asked(id).length, 1);
    await world.runs.control.cancel(id, { by: 'test' });
    await world.runs.reaches(id, 'cancelled');
  });

  it('is not attempted without a key, and the error names the variable', async () => {
    const id = await world.play(() => ({ text: 'never' }), { taskType: 'spec' });
    const { errors } = await world.runs.reaches(id, 'failed');
    assert.equal(errors[0]?.message, 'anthropic/test is not configured: ANTHROPIC_API_KEY is not set');
    assert.equal(world.asked(id).length, 0);
  });

  const REFUSED: [string, Reply, RegExp][] = [
    [
      'a refused key',
      { status: 401, message: 'Incorrect API key provided: sk-test-secret-key.' },
      /^openai-compatible\/test returned 401: the key in OPENAI_COMPATIBLE_API_KEY was refused/,
    ],
    [
      'a key without permission',
      { status: 403, message: 'no access' },
      /returned 403: the key in OPENAI_COMPATIBLE_API_KEY was refused/,
    ],
    [
      'an unknown model',
      { status: 404, message: 'The model test does not exist' },
      /^openai-compatible\/test returned 404: the key in OPENAI_COMPATIBLE_API_KEY has no access to this model/,
    ],
    [
      'a bad request',
      { status: 400, message: 'too long' },
      /^openai-compatible\/test returned 400: too long/,
    ],
    [
      'a quota that is used up',
      { status: 429, message: 'pay', code: 'insufficient_quota' },
      /quota of the account is used up/,
    ],
  ];
  for (const [what, , sentence] of REFUSED) {
    it(`ends the run at once after ${what}, and the error states the cause`, async () => {
      const id = idOf(what);
      const { errors } = await world.runs.reaches(id, 'failed');
      assert.equal(world.asked(id).length, 1);
      assert.deepEqual([errors[0]?.code, errors[0]?.step, errors[0]?.agent], ['step_failed', 'one', 'ada']);
      assert.match(errors[0]?.message ?? '', sentence);
      assert.ok(!errors[0]?.message.includes('secret'));
      assert.match((await world.calls(id))[0]?.failure ?? '', sentence);
      assert.ok(!world.runs.logged().includes('sk-test-secret-key'));
    });
  }
});

describe('a model provider', function () {
  const agents = teamText()
    .replace('You are Ada.', 'You are Ada., model: openai/gpt-test')
    .replace('You are Bob.', 'You are Bob., model: anthropic/claude-test');
  const world = useModels({
    agents,
    environment: { OPENAI_API_KEY: 'sk-openai', ANTHROPIC_API_KEY: 'sk-anthropic' },
  });

  it("can return a refusal, which ends the run with the model's words", async () => {
    const id = await world.play(() => ({ refusal: 'I cannot help with that.' }));
    const { errors } = await world.runs.reaches(id, 'failed');
    assert.match(errors[0]?.message ?? '', /openai\/gpt-test refused to answer: I cannot help with that\./);
  });

  it('fails the attempt with an empty or incomplete response', async () => {
    for (const [reply, sentence] of [
      [{ text: '' }, /returned an empty answer/],
      [{ text: 'And so', finish: 'length' }, /maximum answer length/],
    ] as const) {
      const id = await world.play(first(reply));
      const { steps } = await world.runs.reaches(id, 'completed');
      assert.equal(steps[0]?.attempt, 2);
      assert.equal(steps[0]?.usage?.model_calls, 2);
      const failed = (await world.runs.events(id)).find(({ type }) => type === 'step.failed');
      assert.match(JSON.stringify(failed?.data), sentence);
    }
  });

  it('gets calls in its own protocol, with its own key and the tools', async () => {
    const before = { ...world.server.tokens };
    const id = await world.play(
      (asked) =>
        turnOf(asked) === 1
          ? { text: 'First.', calls: [{ name: 'report_progress', arguments: { text: `by ${asked.model}` } }] }
          : { text: `Done by ${asked.model}.` },
      { taskType: 'feature' },
    );
    const { steps } = await world.runs.reaches(id, 'completed');
    assert.deepEqual(
      steps.map(({ summary, usage }) => [summary, usage?.model_calls]),
      [
        ['Done by gpt-test.', 2],
        ['Done by claude-test.', 2],
      ],
    );
    assert.deepEqual(
      world.asked().map(({ path, authorization }) => [path, authorization]),
      [
        ['/v1/chat/completions', 'Bearer sk-openai'],
        ['/v1/chat/completions', 'Bearer sk-openai'],
        ['/v1/messages', 'sk-anthropic'],
        ['/v1/messages', 'sk-anthropic'],
      ],
    );
    assert.ok(world.asked().every(({ tools }) => tools.includes('escalate_to_human')));
    const sum = steps.reduce((total, { usage }) => total + (usage?.input_tokens ?? 0), 0);
    assert.equal(sum, world.server.tokens.input - before.input);
  });

  it('gets no streaming request, and each call only once', async () => {
    const id = await world.play(() => ({ text: 'Done.' }));
    await world.runs.reaches(id, 'completed');
    assert.equal(world.asked().length, 1);
    assert.notEqual(world.asked()[0]?.body['stream'], true);
  });
});
