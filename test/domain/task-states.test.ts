import assert from 'node:assert/strict';
import {
  ACTIVE_STATES,
  isTerminal,
  isReportedByCallback,
  nextState,
  shownStateOf,
  TASK_STATES,
  TERMINAL_STATES,
  TRANSITION_TRIGGERS,
  type TaskState,
  type TransitionTrigger,
} from '../../src/domain/tasks/task-states.ts';

/** The whole table (docs/how-it-works.md). A missing trigger causes no transition. */
const TABLE: Record<TaskState, Partial<Record<TransitionTrigger, TaskState>>> = {
  initializing: {
    runner_started: 'planning',
    unrecoverable: 'failed',
    paused: 'paused',
    cancelled: 'cancelled',
  },
  planning: { agents_chosen: 'executing', unrecoverable: 'failed', paused: 'paused', cancelled: 'cancelled' },
  executing: {
    all_work_done: 'completed',
    unrecoverable: 'failed',
    human_requested: 'escalated',
    paused: 'paused',
    cancelled: 'cancelled',
  },
  paused: { unrecoverable: 'failed', cancelled: 'cancelled' },
  completed: {},
  failed: {},
  cancelled: {},
  escalated: {},
};

describe('a state transition', () => {
  for (const from of TASK_STATES) {
    for (const trigger of TRANSITION_TRIGGERS.filter((name) => name !== 'continued')) {
      const expected = TABLE[from][trigger] ?? null;
      it(`leads from ${from} by ${trigger} to ${expected ?? 'no state'}`, () => {
        assert.equal(nextState(from, trigger, from === 'paused' ? 'executing' : null), expected);
      });
    }
  }

  for (const from of ACTIVE_STATES) {
    it(`leads from paused back to ${from} by continued`, () => {
      assert.equal(nextState('paused', 'continued', from), from);
    });
  }

  it('by continued is possible only from paused', () => {
    for (const state of TASK_STATES.filter((name) => name !== 'paused')) {
      assert.equal(nextState(state, 'continued', null), null);
    }
  });

  it('is shown as waiting for an answer while a question is open', () => {
    assert.equal(shownStateOf({ state: 'paused', question: { text: 'May I?' } }), 'waiting for an answer');
    assert.equal(shownStateOf({ state: 'paused', question: null }), 'paused');
    assert.equal(shownStateOf({ state: 'executing', question: null }), 'executing');
    assert.equal(shownStateOf({ state: 'cancelled', question: { text: 'May I?' } }), 'cancelled');
  });

  it('leads to four terminal states, of which callbacks report three', () => {
    assert.deepEqual(TASK_STATES.filter(isTerminal), [...TERMINAL_STATES]);
    assert.deepEqual(TASK_STATES.filter(isReportedByCallback), ['completed', 'failed', 'escalated']);
  });
});
