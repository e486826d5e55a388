import assert from 'node:assert/strict';
import { CALL_CONTEXT_OPTION, MODEL_FAILURES, usageOfCall } from '../../src/domain/agents/agent-work.ts';
import {
  DEFAULT_TOOLS,
  isOwnTool,
  OWN_TOOLS,
  ownTool,
  ownToolsOf,
} from '../../src/domain/agents/own-tools.ts';
import { artifactSizeFault, readArtifact } from '../../src/domain/tasks/artifact.ts';
import {
  backendOf,
  stepsBefore,
  stepWaitMs,
  type Plan,
  type PlannedStep,
  type StepRetry,
} from '../../src/domain/tasks/plan.ts';
import type { Step } from '../../src/domain/tasks/run-schemas.ts';
import { addUsage, initialView, progressOf } from '../../src/domain/tasks/task-run.ts';
import { createRerunPlan, stepsReached, type StoredPlan } from '../../src/domain/tasks/rerun.ts';

const step = (name: string, status: Step['status']): Step => ({
  id: `id-${name}`,
  name,
  agent: 'a',
  status,
  attempt: 1,
  started_at: null,
  completed_at: null,
  duration_ms: null,
  summary: null,
  usage: null,
  error: null,
});

describe('the progress of a run', () => {
  it('is the completed part of its steps, rounded down, and the step that runs', () => {
    const steps = [step('a', 'completed'), step('b', 'failed'), step('c', 'running')];
    assert.deepEqual(progressOf(steps), {
      percent: 33,
      steps_completed: 1,
      steps_total: 3,
      current_step: 'c',
    });
    assert.equal(progressOf(steps.slice(0, 1)).percent, 100);
    assert.equal(progressOf(steps.slice(0, 1)).current_step, null);
  });

  it('is zero before the run has steps', () => {
    assert.deepEqual(initialView().progress, {
      percent: 0,
      steps_completed: 0,
      steps_total: 0,
      current_step: null,
    });
  });
});

describe('the view of a run before it starts', () => {
  it('is empty', () => {
    const { progress: _, ...view } = initialView();
    assert.deepEqual(view, {
      state: 'initializing',
      paused_from: null,
      steps: [],
      started_at: null,
      paused_at: null,
      paused_by: null,
      paused_ms: 0,
      completed_at: null,
      duration_ms: null,
      output: null,
      errors: [],
      escalation: null,
      question: null,
      last_seq: 0,
    });
  });
});

describe('the usage of two attempts', () => {
  const tokens = { input_tokens: 3, output_tokens: 4 };

  it('is their sum', () => {
    assert.deepEqual(
      addUsage({ ...tokens, model_calls: 1, cost_usd: 0.5 }, { ...tokens, model_calls: 2, cost_usd: 0.25 }),
      { input_tokens: 6, output_tokens: 8, model_calls: 3, cost_usd: 0.75 },
    );
    assert.deepEqual(addUsage(tokens, tokens), { input_tokens: 6, output_tokens: 8 });
  });

  it('is that of the only one', () => {
    assert.equal(addUsage(tokens, null), tokens);
    assert.equal(addUsage(null, tokens), tokens);
    assert.equal(addUsage(null, null), null);
  });

  it('has the calls and the cost of the only one that has them', () => {
    const sum = { input_tokens: 6, output_tokens: 8 };
    assert.deepEqual(addUsage({ ...tokens, cost_usd: 1 }, tokens), { ...sum, cost_usd: 1 });
    assert.deepEqual(addUsage(tokens, { ...tokens, model_calls: 1 }), { ...sum, model_calls: 1 });
  });
});

describe('the usage of a model call', () => {
  it('has a cost if the model has a price', () => {
    const used = { input: 2_000_000, output: 500_000 };
    const usage = { input_tokens: 2_000_000, output_tokens: 500_000, model_calls: 1 };
    assert.deepEqual(usageOfCall(used, null), usage);
    assert.deepEqual(usageOfCall(used, { input: 3, output: 10 }), { ...usage, cost_usd: 11 });
  });
});

describe('the names that a recorded model call contains', () => {
  it('stay the same, since running workflows read them', () => {
    assert.deepEqual(MODEL_FAILURES, { refused: 'ModelRefused', failed: 'ModelFailed', over: 'RunIsOver' });
    assert.equal(CALL_CONTEXT_OPTION, 'baton');
  });
});

describe('the wait before a further attempt of a step', () => {
  const retry: StepRetry = {
    maximum_attempts: 4,
    initial_interval_ms: 100,
    backoff_coefficient: 3,
    maximum_interval_ms: 500,
  };

  it('grows to a maximum, until the last attempt', () => {
    const waits = [1, 2, 3, 4, 5].map((attempt) => stepWaitMs(retry, attempt));
    assert.deepEqual(waits, [100, 300, 500, null, null]);
  });

  it('does not exist for a step with a single attempt', () => {
    assert.equal(stepWaitMs({ ...retry, maximum_attempts: 1 }, 1), null);
  });
});

describe('a plan', () => {
  const planned = (name: string): PlannedStep => ({
    id: `id-${name}`,
    name,
    agent: 'a',
    after: [],
    time_limit_ms: 1,
    retry: { maximum_attempts: 1, initial_interval_ms: 1, backoff_coefficient: 1, maximum_interval_ms: 1 },
  });
  const plan: Plan = { backend: 'rehearsal', steps: [planned('a'), planned('b')], run_time_limit_ms: 1 };

  it('has a backend for all steps, unless a step has its own', () => {
    assert.equal(backendOf(plan, planned('a')), 'rehearsal');
    assert.equal(backendOf(plan, { ...planned('a'), backend: 'model' }), 'model');
  });

  it('says which steps come before a step, directly or not, in its own order', () => {
    const after = (name: string, ...names: string[]) => ({ ...planned(name), after: names });
    const last = after('e', 'd', 'b');
    const steps = [planned('a'), after('b', 'a'), after('c', 'a'), after('d', 'c'), last, after('f', 'e')];
    assert.deepEqual(stepsBefore({ ...plan, steps }, last), ['a', 'b', 'c', 'd']);
    assert.deepEqual(stepsBefore({ ...plan, steps }, after('f', 'e')), ['a', 'b', 'c', 'd', 'e']);
    assert.deepEqual(stepsBefore({ ...plan, steps }, after('c', 'a')), ['a']);
    assert.deepEqual(stepsBefore({ ...plan, steps }, planned('a')), []);
  });

  it('of a rerun has the steps that the run reached, or was to keep', () => {
    const kept = [step('a', 'completed')];
    const steps = [step('a', 'failed')];
    assert.equal(stepsReached({ ...plan, kept }, steps), steps);
    assert.equal(stepsReached({ ...plan, kept }, []), kept);
    assert.deepEqual(stepsReached(plan, []), []);
  });

  it('of a rerun of a rerun has only the outputs of the steps that it keeps', () => {
    const first: StoredPlan = {
      ...plan,
      kept: [step('a', 'completed')],
      left: { results: [{ id: 'id-a', text: 'old' }], artifacts: [] },
    };
    const steps = [step('b', 'completed'), step('a', 'completed')];
    const outputs = { results: [{ step: 'b', text: 'new' }], artifacts: [] };
    let number = 0;
    const again = createRerunPlan(first, steps, { kept: ['a'], ...outputs }, () => `n${(number += 1)}`);
    assert.deepEqual(again.kept, [{ ...step('a', 'completed'), id: 'n1', kept: true }]);
    assert.deepEqual(again.left, { results: [], artifacts: [] });
    const unreached = createRerunPlan(plan, [], { kept: ['a'], ...outputs }, () => 'n');
    assert.deepEqual(unreached.kept, [], 'a step that did not run is not kept');
  });
});

describe('the built-in tools of an agent', () => {
  it('are all of them by default, or those of its list', () => {
    assert.deepEqual(ownToolsOf(null), [...OWN_TOOLS]);
    assert.deepEqual(DEFAULT_TOOLS, [
      'report_progress',
      'escalate_to_human',
      'ask_for_approval',
      'save_artifact',
    ]);
    assert.deepEqual(ownToolsOf(['files__read', 'save_artifact', 'report_progress']), [
      'report_progress',
      'save_artifact',
    ]);
    assert.deepEqual(ownToolsOf([]), []);
  });

  it('are known by their names', () => {
    for (const name of OWN_TOOLS) assert.ok(isOwnTool(name));
    assert.ok(!isOwnTool('files__read'));
  });

  it('say which arguments they take', () => {
    const taken = OWN_TOOLS.map((name) => {
      const { name: shown, tool, server, input_schema: schema } = ownTool(name);
      assert.deepEqual([shown, tool, server], [name, name, null]);
      assert.deepEqual([schema['type'], schema['additionalProperties']], ['object', false]);
      return [Object.keys(schema['properties'] as object), schema['required']];
    });
    assert.deepEqual(taken, [
      [['text', 'percent'], ['text']],
      [['reason'], ['reason']],
      [['question'], ['question']],
      [
        ['name', 'media_type', 'content', 'encoding'],
        ['name', 'media_type', 'content'],
      ],
    ]);
    const { properties } = ownTool('report_progress').input_schema as {
      properties: Record<string, { type: string; minLength?: number; maxLength?: number; maximum?: number }>;
    };
    assert.deepEqual(
      [properties['text']?.type, properties['text']?.minLength, properties['text']?.maxLength],
      ['string', 1, 1_000],
    );
    assert.deepEqual([properties['percent']?.type, properties['percent']?.maximum], ['number', 100]);
    const lengthOf = (name: 'escalate_to_human' | 'ask_for_approval' | 'save_artifact', argument: string) =>
      (ownTool(name).input_schema['properties'] as Record<string, { maxLength?: number }>)[argument]
        ?.maxLength;
    assert.deepEqual(
      [
        lengthOf('escalate_to_human', 'reason'),
        lengthOf('ask_for_approval', 'question'),
        lengthOf('save_artifact', 'name'),
        lengthOf('save_artifact', 'media_type'),
      ],
      [1_000, 4_000, 200, 100],
    );
    const document = ownTool('save_artifact').input_schema as {
      properties: Record<string, { type: string; enum?: string[] }>;
    };
    assert.deepEqual(document.properties['encoding']?.enum, ['text', 'base64']);
    assert.deepEqual(
      [document.properties['encoding']?.type, document.properties['content']?.type],
      ['string', 'string'],
    );
  });
});

describe('a document that an agent saves', () => {
  const DRAFT = { name: 'notes.md', media_type: 'text/markdown', content: 'x' };
  const errorOf = (input: unknown): string | null => {
    const read = readArtifact(input);
    return 'error' in read ? (read.error.split(' ')[0] ?? '') : null;
  };

  it('is text by default, with its media type in lower case', () => {
    assert.deepEqual(readArtifact({ ...DRAFT, media_type: ' Text/Markdown ' }), {
      ...DRAFT,
      encoding: 'text',
    });
    assert.deepEqual(readArtifact({ ...DRAFT, content: '', encoding: 'text' }), {
      ...DRAFT,
      content: '',
      encoding: 'text',
    });
  });

  it('can be base64 of any bytes', () => {
    for (const content of ['', 'aGVsbG8=', 'aGVsbG==', 'aGVs', 'aGVsaGVs', '+/Az'])
      assert.equal(errorOf({ ...DRAFT, content, encoding: 'base64' }), null, content);
    for (const content of [
      'a',
      'aG',
      'aGVsbG8',
      'aGVs=',
      'aG V',
      '-_Az',
      'aGVs\n',
      '=aGV',
      'aGVsbG8=x',
      '====',
    ])
      assert.equal(errorOf({ ...DRAFT, content, encoding: 'base64' }), 'content', content);
    assert.equal(errorOf({ ...DRAFT, content: 'not base64' }), null);
  });

  it('has a file name without a path', () => {
    for (const name of ['a', '_a', '1', 'É 1', 'a.b-c_d (1)+x', 'x'.repeat(200)])
      assert.equal(errorOf({ ...DRAFT, name }), null, name);
    for (const name of [
      '',
      '.a',
      '-a',
      ' a',
      'a ',
      'a.',
      'a/b',
      '../a',
      'a\\b',
      'a\n',
      'x'.repeat(201),
      7,
      undefined,
    ])
      assert.equal(errorOf({ ...DRAFT, name }), 'name', String(name));
  });

  it('has a media type', () => {
    const long = 'x'.repeat(63);
    for (const media_type of ['a/b', 'application/vnd.a+json', 'x1/y-z', `${long}/${long}`])
      assert.equal(errorOf({ ...DRAFT, media_type }), null, media_type);
    for (const media_type of [
      'text',
      'text/',
      '/plain',
      'text/plain; a=b',
      `${long}x/y`,
      `y/${long}x`,
      'a b/c',
      '-a/b',
      'a/-b',
      7,
      null,
    ])
      assert.equal(errorOf({ ...DRAFT, media_type }), 'media_type', String(media_type));
  });

  it('has content and a known encoding', () => {
    assert.equal(errorOf({ ...DRAFT, content: 7 }), 'content');
    assert.equal(errorOf({ ...DRAFT, encoding: 'hex' }), 'encoding');
    for (const input of [null, undefined, {}, 'x']) assert.equal(errorOf(input), 'name');
  });

  it('has at most 1 MiB', () => {
    assert.equal(artifactSizeFault(1_048_576), null);
    assert.equal(artifactSizeFault(1_048_577), 'the document has 1048577 bytes; the limit is 1048576 bytes');
  });
});
