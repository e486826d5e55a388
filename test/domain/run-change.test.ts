import assert from 'node:assert/strict';
import { needOf, relativeLength, type RunChange } from '../../src/domain/tasks/run-change.ts';
import { initialView } from '../../src/domain/tasks/task-run.ts';

const QUESTION = { id: '1', step: 'one', agent: 'developer', text: 'May I?', at: '2026-01-01T00:00:00.000Z' };

/** A change to a state, with an event of this type and data. */
function changeTo(view: Partial<RunChange['view']> | null, type = 'state.changed', data = {}): RunChange {
  const entry = { key: 'a', type, at: QUESTION.at, data } as RunChange['entries'][number];
  return { executionId: 'run', view: view && { ...initialView(), ...view }, entries: [entry] };
}

describe('a run needs a person', () => {
  it('for a decision from the change that escalates it', () => {
    assert.equal(needOf(changeTo({ state: 'escalated' })), 'escalated');
  });

  it('for an answer from the change with the question', () => {
    const asking = { state: 'paused', question: QUESTION } as const;
    assert.equal(needOf(changeTo(asking, 'state.changed', { question: 'May I?' })), 'asked');
    assert.equal(needOf(changeTo(asking, 'state.changed')), null, 'the question is not new');
    assert.equal(needOf(changeTo(asking, 'step.progress', { question: 'May I?' })), null);
  });

  it('for nothing new from any other change', () => {
    const data = { question: 'May I?' };
    assert.equal(needOf(changeTo(null, 'state.changed', data)), null);
    assert.equal(needOf(changeTo({ state: 'paused' }, 'state.changed', data)), null, 'it was answered');
    assert.equal(needOf(changeTo({ state: 'executing', question: QUESTION }, 'state.changed', data)), null);
  });
});

describe('the length of a history', () => {
  const mebibytes = (count: number) => count * 1_048_576;

  it('is a multiple of 4,000 events or 4 MiB, whichever is more', () => {
    assert.equal(relativeLength({ events: 1_000, bytes: 0, isLong: false }), 0.25);
    assert.equal(relativeLength({ events: 8_000, bytes: mebibytes(4), isLong: false }), 2);
    assert.equal(relativeLength({ events: 4_000, bytes: mebibytes(12), isLong: false }), 3);
    assert.equal(relativeLength({ events: 60, bytes: 0, isLong: false }, 40), 1.5, 'or of the given events');
  });

  it('is at least one if Temporal suggests to continue', () => {
    assert.equal(relativeLength({ events: 1_000, bytes: 0, isLong: true }), 1);
    assert.equal(relativeLength({ events: 8_000, bytes: 0, isLong: true }), 2);
  });
});
