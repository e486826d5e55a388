import assert from 'node:assert/strict';
import { Role, TaskState as A2aState, type Message } from '@a2a-js/sdk';
import {
  FIRST_STANDING,
  headOf,
  standingAfter,
  stateOf,
  updateOf,
  type Standing,
} from '../../src/agents/a2a-updates.ts';
import { answersIn, historyOf, runsIn, taskOf } from '../../src/api/a2a/mapping.ts';
import { submissionOf } from '../../src/api/a2a/submission.ts';
import type { TaskRunRow } from '../../src/database/tasks/task-runs.ts';
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
});
