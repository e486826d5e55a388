import assert from 'node:assert/strict';
import { Role, TaskState as A2aState, type Message, type Part } from '@a2a-js/sdk';
import {
  FIRST_STANDING,
  headOf,
  message as messageOf,
  standingAfter,
  stateOf,
  updateOf,
  type Standing,
} from '../../src/agents/a2a-updates.ts';
import {
  answersIn,
  artifactUpdateOf,
  historyOf,
  outputArtifact,
  runsIn,
  taskOf,
} from '../../src/api/a2a/mapping.ts';
import { answerOf, submissionOf } from '../../src/api/a2a/submission.ts';
import type { TaskRunRow } from '../../src/database/tasks/task-runs.ts';
import { MAX_TITLE_LENGTH } from '../../src/domain/common/limits.ts';
import { FEED_EVENT_TYPES, type FeedEvent } from '../../src/domain/tasks/feed-events.ts';
import type { RunView } from '../../src/domain/tasks/run-schemas.ts';
import { initialView } from '../../src/domain/tasks/task-run.ts';
import { TASK_STATES, type TaskState } from '../../src/domain/tasks/task-states.ts';
import { messageWith, textOf } from '../support/a2a-client.ts';

const ID = '0199c2a4-5b7e-7a31-9a54-3f0c8b1d2e6f';
const AT = '2026-01-31T12:00:00.000Z';
const STEP = { id: 's', name: 'design', agent: 'architect', attempt: 1 };
const QUESTION = { id: '1', step: 'design', agent: 'architect', text: 'Which colour?', at: AT };
const ERROR = {
  code: 'step_failed' as const,
  message: 'no answer',
  step: 'design',
  agent: 'architect',
  at: AT,
};

const row = (fields: Partial<TaskRunRow> = {}) =>
  ({
    id: ID,
    metadata: '{"a2a_context_id":"c"}',
    title: 'T',
    description: null,
    task_type: 'bug',
    created_at: new Date(AT),
    updated_at: new Date(AT),
    ...fields,
  }) as TaskRunRow;
const view = (state: TaskState, fields: Partial<RunView> = {}): RunView => ({
  ...initialView(),
  state,
  ...fields,
});
const event = (type: FeedEvent['type'], data: Record<string, unknown>, seq = 5): FeedEvent => ({
  seq,
  type,
  execution_id: ID,
  at: AT,
  data,
});
const statusOf = (shown: RunView, lastChange: FeedEvent | null = null) =>
  taskOf({ row: row(), view: shown, lastChange, history: [], artifacts: [], statusUrl: '' }).status;
const standing = (fields: Partial<Standing> = {}): Standing => ({
  ...FIRST_STANDING,
  state: 'executing',
  ...fields,
});
const update = (given: FeedEvent, before: Standing = standing()) => {
  const payload = updateOf({ id: ID, contextId: 'c' }, given, before)?.payload;
  return payload?.$case === 'statusUpdate'
    ? { state: payload.value.status?.state, text: textOf(payload.value.status?.message) }
    : null;
};

describe('the A2A task of a run', () => {
  const states: [TaskState, Partial<RunView>, A2aState, string][] = [
    ['initializing', {}, A2aState.TASK_STATE_SUBMITTED, ''],
    ['planning', {}, A2aState.TASK_STATE_WORKING, 'Planning.'],
    ['executing', {}, A2aState.TASK_STATE_WORKING, '0 of 0 steps completed.'],
    ['paused', { paused_by: 'user:ada' }, A2aState.TASK_STATE_WORKING, 'Paused by user:ada.'],
    ['paused', { question: QUESTION }, A2aState.TASK_STATE_INPUT_REQUIRED, 'Which colour?'],
    ['completed', { output: { summary: '2 of 2' } }, A2aState.TASK_STATE_COMPLETED, '2 of 2'],
    ['failed', { errors: [ERROR] }, A2aState.TASK_STATE_FAILED, 'no answer'],
    ['cancelled', {}, A2aState.TASK_STATE_CANCELED, 'Cancelled.'],
    [
      'escalated',
      { escalation: { reason: 'Too risky.', step: 'design', agent: 'architect', at: AT } },
      A2aState.TASK_STATE_FAILED,
      'Too risky.',
    ],
  ];
  for (const [state, fields, expected, text] of states) {
    it(`of a run that is ${state}${fields.question ? ' for an answer' : ''} is ${A2aState[expected]}`, () => {
      const status = statusOf(view(state, fields));
      assert.equal(status?.state, expected);
      assert.equal(textOf(status?.message), text);
    });
  }

  it('has the values of its run', () => {
    const head = { id: ID, contextId: 'c' };
    const shown = view('executing', {
      last_seq: 7,
      progress: { percent: 40, steps_completed: 2, steps_total: 5, current_step: 'design' },
    });
    const run = row({ project_id: 'p', updated_at: new Date('2026-01-31T13:00:00.000Z') });
    const artifact = outputArtifact({ output: { a: 1 } });
    assert.ok(artifact);
    const parts = { row: run, view: shown, lastChange: null, history: historyOf(run, []) };
    const task = taskOf({ ...parts, artifacts: [artifact], statusUrl: 'https://example.com/run' });
    const { status, history, ...others } = task;
    assert.deepEqual(others, {
      ...head,
      artifacts: [artifact],
      metadata: {
        state: 'executing',
        title: 'T',
        taskType: 'bug',
        projectId: 'p',
        progress: { percent: 40, stepsCompleted: 2, stepsTotal: 5, currentStep: 'design' },
        statusUrl: 'https://example.com/run',
        lastSeq: 7,
      },
    });
    const said = '2 of 5 steps completed. Working on design.';
    assert.deepEqual(status, {
      state: A2aState.TASK_STATE_WORKING,
      message: messageOf(head, '7', said, { state: 'executing' }),
      timestamp: '2026-01-31T13:00:00.000Z',
    });
    assert.deepEqual(history, [{ ...messageOf(head, '0', 'T', undefined), role: Role.ROLE_USER }]);
    const [described] = historyOf(row({ description: 'D' }), []);
    assert.equal(textOf(described), 'D');
  });

  it('has the time of its end, the open question and the escalation in its status', () => {
    const ended = view('completed', { completed_at: '2026-01-31T14:00:00.000Z' });
    assert.equal(statusOf(ended)?.timestamp, '2026-01-31T14:00:00.000Z');
    assert.equal(textOf(statusOf(ended)?.message), 'Completed.');
    assert.equal(statusOf(view('initializing'))?.message, undefined);
    const metadataOf = (shown: RunView) => statusOf(shown)?.message?.metadata;
    const { step, agent } = QUESTION;
    assert.deepEqual(metadataOf(view('paused', { question: { ...QUESTION, id: '3' } })), {
      state: 'paused',
      question: '3',
      step,
      agent,
    });
    const escalation = { reason: 'Too risky.', step: 'deploy', agent: 'operator', at: AT };
    assert.deepEqual(metadataOf(view('escalated', { escalation })), {
      state: 'escalated',
      step: 'deploy',
      agent: 'operator',
    });
    assert.equal(textOf(statusOf(view('escalated'))?.message), 'An agent asked for a human decision.');
  });

  it('names who paused or cancelled it, and why', () => {
    const because = { by: 'key:bt_1', reason: 'needs review' };
    const paused = event('state.changed', { from: 'executing', to: 'paused', ...because });
    assert.equal(textOf(statusOf(view('paused'), paused)?.message), 'Paused by key:bt_1: needs review');
    const cancelled = event('state.changed', { from: 'executing', to: 'cancelled', ...because });
    assert.equal(
      textOf(statusOf(view('cancelled'), cancelled)?.message),
      'Cancelled by key:bt_1: needs review',
    );
    // A change that is older than the view says nothing about it.
    assert.equal(textOf(statusOf(view('cancelled'), paused)?.message), 'Cancelled.');
  });

  it('has the context of the client, or is its own context', () => {
    assert.deepEqual(headOf(row()), { id: ID, contextId: 'c' });
    assert.deepEqual(headOf(row({ metadata: '{}' })), { id: ID, contextId: ID });
    assert.deepEqual(headOf(row({ metadata: '{"a2a_context_id":1}' })), { id: ID, contextId: ID });
  });

  it('is found by its state', () => {
    for (const state of TASK_STATES) {
      for (const question of state === 'paused' ? [null, QUESTION] : [null]) {
        const { states: found, asking } = runsIn(stateOf({ state, question }));
        assert.ok(found.includes(state), state);
        assert.ok(asking === undefined || asking === (question !== null), state);
      }
    }
    assert.deepEqual(runsIn(A2aState.TASK_STATE_REJECTED), { states: [] });
    const running = { states: ['planning', 'executing', 'paused'], asking: false };
    assert.deepEqual(runsIn(A2aState.TASK_STATE_WORKING), running);
    assert.deepEqual(runsIn(A2aState.TASK_STATE_INPUT_REQUIRED), { states: ['paused'], asking: true });
    for (const [state, found] of [
      [A2aState.TASK_STATE_SUBMITTED, ['initializing']],
      [A2aState.TASK_STATE_COMPLETED, ['completed']],
      [A2aState.TASK_STATE_FAILED, ['failed', 'escalated']],
      [A2aState.TASK_STATE_CANCELED, ['cancelled']],
    ] as const)
      assert.deepEqual(runsIn(state), { states: found });
  });

  it('has the submission, what agents said and asked, and the answers in its history', () => {
    const events = [
      event('agent.message', { step: STEP, text: 'I design.' }, 4),
      event('state.changed', { from: 'executing', to: 'paused', question: QUESTION }, 5),
      event('state.changed', { from: 'paused', to: 'executing', by: 'user:ada', reason: 'Blue' }, 6),
      event('state.changed', { from: 'executing', to: 'paused', by: 'user:ada', reason: 'wait' }, 7),
    ];
    const history = historyOf(row(), events);
    assert.deepEqual(
      history.map((message) => [message.messageId.slice(ID.length), Role[message.role], textOf(message)]),
      [
        [':0', 'ROLE_USER', 'T'],
        [':4', 'ROLE_AGENT', 'I design.'],
        [':5', 'ROLE_AGENT', 'Which colour?'],
        [':6', 'ROLE_USER', 'Blue'],
      ],
    );
    const { name: step, agent } = STEP;
    assert.deepEqual(
      history.map(({ metadata }) => metadata),
      [undefined, { step, agent }, { question: '1', step, agent }, { by: 'user:ada' }],
    );
  });
});

describe('an artifact over A2A', () => {
  it('is the output of a run, and an update', () => {
    assert.equal(outputArtifact({ output: null }), null);
    const artifact = outputArtifact({ output: { summary: 's' } });
    assert.deepEqual(artifact, {
      artifactId: '/output',
      name: 'output',
      description: 'The output of the run',
      parts: [
        {
          content: { $case: 'data', value: { summary: 's' } },
          mediaType: 'application/json',
          filename: '',
          metadata: undefined,
        },
      ],
      metadata: undefined,
      extensions: [],
    });
    assert.ok(artifact);
    assert.deepEqual(artifactUpdateOf({ id: ID, contextId: 'c' }, artifact).payload, {
      $case: 'artifactUpdate',
      value: {
        taskId: ID,
        contextId: 'c',
        artifact,
        append: false,
        lastChunk: true,
        metadata: undefined,
      },
    });
  });
});

describe('the answers in a feed', () => {
  const asked = (id: string) => event('state.changed', { to: 'paused', question: { ...QUESTION, id } });
  const changed = (to: TaskState, reason: string) => event('state.changed', { to, by: 'user:ada', reason });

  it('are the changes after a question, except the end of the run', () => {
    const changes = [
      changed('paused', 'wait'),
      changed('executing', 'ready'),
      asked('1'),
      changed('executing', 'Blue'),
      asked('2'),
      changed('executing', 'Red'),
      asked('3'),
      changed('cancelled', 'too late'),
    ];
    assert.deepEqual(answersIn(changes), [
      { question: '1', by: 'user:ada', reason: 'Blue' },
      { question: '2', by: 'user:ada', reason: 'Red' },
    ]);
  });
});

describe('the A2A update of an event', () => {
  const ended = (state: TaskState, fields: object = {}) =>
    event('run.ended', { state, duration_ms: 1, errors: [], escalation: null, ...fields });
  const WORKING = A2aState.TASK_STATE_WORKING;
  const expected: [string, FeedEvent, Standing, { state: A2aState; text: string } | null][] = [
    [
      'a new state',
      event('state.changed', { from: 'planning', to: 'executing' }),
      standing({ state: 'planning' }),
      { state: WORKING, text: '' },
    ],
    [
      'a pause',
      event('state.changed', { to: 'paused', by: 'user:ada', reason: 'wait' }),
      standing(),
      { state: WORKING, text: 'Paused by user:ada: wait' },
    ],
    [
      'a question',
      event('state.changed', { to: 'paused', question: QUESTION }),
      standing(),
      { state: A2aState.TASK_STATE_INPUT_REQUIRED, text: 'Which colour?' },
    ],
    [
      'an answer',
      event('state.changed', { from: 'paused', to: 'executing', by: 'user:ada', reason: 'Blue' }),
      standing({ state: 'paused', question: QUESTION }),
      { state: WORKING, text: 'Continued by user:ada: Blue' },
    ],
    [
      'a step',
      event('step.started', { step: STEP }),
      standing(),
      { state: WORKING, text: 'design started.' },
    ],
    [
      'a message',
      event('agent.message', { step: STEP, text: 'Hello' }),
      standing(),
      { state: WORKING, text: 'Hello' },
    ],
    [
      'a message while a question is open',
      event('agent.message', { step: STEP, text: 'Hello' }),
      standing({ state: 'paused', question: QUESTION }),
      { state: A2aState.TASK_STATE_INPUT_REQUIRED, text: 'Hello' },
    ],
    [
      'progress',
      event('step.progress', { step: STEP, percent: 40 }),
      standing(),
      { state: WORKING, text: '' },
    ],
    [
      'a completed step',
      event('step.completed', { step: STEP, summary: null }),
      standing(),
      { state: WORKING, text: 'design completed.' },
    ],
    [
      'a failed step',
      event('step.failed', { step: STEP, error: ERROR }),
      standing(),
      { state: WORKING, text: 'design failed: no answer' },
    ],
    [
      'an escalation',
      event('escalation.requested', { step: STEP, reason: 'Too risky.' }),
      standing(),
      { state: WORKING, text: 'Too risky.' },
    ],
    ['the change to an end state', event('state.changed', { to: 'completed' }), standing(), null],
    ['a callback', event('callback.attempted', { attempt: 1 }), standing({ state: 'completed' }), null],
    [
      'completion',
      ended('completed'),
      standing({ state: 'completed' }),
      { state: A2aState.TASK_STATE_COMPLETED, text: 'Completed.' },
    ],
    [
      'a failure',
      ended('failed', { errors: [ERROR] }),
      standing({ state: 'failed' }),
      { state: A2aState.TASK_STATE_FAILED, text: 'no answer' },
    ],
    [
      'a cancel',
      ended('cancelled'),
      standing({ state: 'cancelled', by: 'key:a', reason: 'late' }),
      { state: A2aState.TASK_STATE_CANCELED, text: 'Cancelled by key:a: late' },
    ],
    [
      'the end by an escalation',
      ended('escalated', { escalation: { reason: 'Too risky.' } }),
      standing({ state: 'escalated' }),
      { state: A2aState.TASK_STATE_FAILED, text: 'Too risky.' },
    ],
  ];
  for (const [what, given, before, wanted] of expected) {
    it(`is right for ${what}`, () => assert.deepEqual(update(given, before), wanted));
  }

  it('exists for every type of event', () => {
    const tested = new Set(expected.map(([, { type }]) => type));
    assert.deepEqual([...tested].toSorted(), [...FEED_EVENT_TYPES].toSorted());
  });

  it('has the state that the events before it led to', () => {
    const question = event('state.changed', { to: 'paused', question: QUESTION });
    assert.deepEqual(standingAfter(standing(), question).question, QUESTION);
    assert.deepEqual(standingAfter(standing(), event('step.started', { step: STEP })), standing());
  });
});

describe('the submission in an A2A message', () => {
  const submitted = (text: string, fields: Partial<Message> = {}) =>
    submissionOf({ message: messageWith(text, fields).message as Message, metadata: undefined }, 'p');

  it('has the first line of the text as its title', () => {
    assert.deepEqual(submitted('One line'), { project_id: 'p', title: 'One line', metadata: {} });
    const { title, description } = submitted('Title\n\nMore');
    assert.deepEqual([title, description], ['Title', 'Title\n\nMore']);
    const long = 'x'.repeat(300);
    assert.deepEqual(
      [submitted(long)['title'], submitted(long)['description']],
      [`${'x'.repeat(199)}…`, long],
    );
  });

  it('takes its fields from the metadata, and the rest is the metadata of the run', () => {
    const metadata = { title: 'Named', task_type: 'bug', branch: 'main' };
    assert.deepEqual(submitted('The text', { metadata }), {
      project_id: 'p',
      title: 'Named',
      description: 'The text',
      task_type: 'bug',
      metadata: { branch: 'main' },
    });
  });

  const part = (content: NonNullable<Part['content']>, fields: Partial<Part> = {}): Part => ({
    content,
    mediaType: '',
    filename: '',
    metadata: undefined,
    ...fields,
  });
  const said = (value: string, mediaType = '') => part({ $case: 'text', value }, { mediaType });
  const given = (value: unknown) => part({ $case: 'data', value });
  const from = (parts: Part[], metadata?: object, ofRequest?: object, projectId: string | null = null) =>
    submissionOf(
      {
        message: messageWith('', { parts, metadata: metadata as Message['metadata'] }).message as Message,
        metadata: ofRequest,
      },
      projectId,
    );

  it('prefers data to the metadata of the message, and that to the metadata of the request', () => {
    const data = given({ task_type: 'spec', metadata: { from: 'data' } });
    const ofMessage = { task_type: 'chore', project_id: 'theirs', from: 'message', a: 1, where: 'message' };
    const ofRequest = { task_type: 'bug', description: 'D', from: 'request', b: 2, where: 'request' };
    assert.deepEqual(from([said('T'), data], ofMessage, ofRequest, 'own'), {
      project_id: 'theirs',
      title: 'T',
      description: 'D',
      task_type: 'spec',
      metadata: { from: 'data', a: 1, b: 2, where: 'message' },
    });
    assert.deepEqual(from([given({ title: 'A' }), given({ title: 'B' })]), { title: 'B', metadata: {} });
    const both = from([said('  T\n'), given({ title: 'Named' }), said(' more ', 'Application/JSON')]);
    assert.deepEqual(both, { title: 'Named', description: 'T\n\n\n more', metadata: {} });
  });

  it('has the whole text as its description unless the title is all of it', () => {
    assert.deepEqual(from([said('A\r\nB')]), { title: 'A', description: 'A\r\nB', metadata: {} });
    const longest = 'x'.repeat(MAX_TITLE_LENGTH);
    assert.deepEqual(from([said(longest)]), { title: longest, metadata: {} });
    assert.deepEqual(from([said(`${longest}x`)]), {
      title: `${longest.slice(1)}…`,
      description: `${longest}x`,
      metadata: {},
    });
    assert.deepEqual(from([said('Same')], { title: 'Same' }), {
      title: 'Same',
      description: 'Same',
      metadata: {},
    });
  });

  it('is refused without text, and with other parts', () => {
    const malformed = 'RequestMalformedError';
    const notText = 'ContentTypeNotSupportedError';
    for (const [parts, name, reason] of [
      [[said(' \n')], malformed, /no text/],
      [[given({ description: 'D' })], malformed, /no text/],
      [[given({ title: 1 })], malformed, /no text/],
      [[said('A'), given([1])], malformed, /must be an object/],
      [[said('A'), given(null)], malformed, /must be an object/],
      [[said('A'), given({ metadata: [] })], malformed, /`metadata` must be an object/],
      [[said('A'), given({ callback_url: null })], malformed, /push notifications/],
      [[said('A', 'application/jsonp')], notText, /not: application\/jsonp$/],
      [
        [part({ $case: 'url', value: 'x' }, { filename: 'a.png', mediaType: 'image/png' })],
        notText,
        /a\.png$/,
      ],
      [[part({ $case: 'url', value: 'x' })], notText, /data\.$/],
    ] as [Part[], string, RegExp][])
      assert.throws(() => from(parts), { name, message: reason }, `${reason}`);
    for (const type of ['text', 'TEXT/plain', 'application/json; charset=utf-8'])
      assert.equal(from([said('A', type)])['title'], 'A');
  });

  it('is an answer for a task that asks, with the question that it names', () => {
    const answer = (parts: Part[], metadata?: object) =>
      answerOf(messageWith('', { parts, metadata: metadata as Message['metadata'] }).message as Message);
    assert.deepEqual(answer([said(' Blue '), said('or red')], { other: 1 }), { reason: 'Blue \n\nor red' });
    assert.deepEqual(answer([said('Blue')], { question: '2' }), { reason: 'Blue', question: '2' });
    assert.throws(() => answer([said('Blue'), given({ a: 1 })]), { name: 'ContentTypeNotSupportedError' });
    assert.throws(() => answer([said(' ')]), { name: 'RequestMalformedError', message: /no text/ });
  });
});
