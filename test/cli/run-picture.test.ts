import assert from 'node:assert/strict';
import { stripVTControlCharacters } from 'node:util';
import { drawRun } from '../../cli/draw.ts';
import { emptyPicture, noteOf, type RunPicture, withEvent } from '../../cli/run-picture.ts';
import { RunState } from '../../src/domain/tasks/run-state.ts';
import type { FeedEvent } from '../../src/domain/tasks/feed-events.ts';
import type { Plan } from '../../src/domain/tasks/plan.ts';

const START = Date.parse('2026-01-31T12:00:00.000Z');
const step = (name: string) => ({
  id: `id-${name}`,
  name,
  agent: `${name}er`,
  after: [],
  time_limit_ms: 1_000,
  retry: { attempts: 3, first_wait_ms: 100, factor: 2, most_wait_ms: 1_000 },
});

/** Returns the events that readers get for changes of the domain's run state. */
function eventsOf(play: (run: RunState) => void): FeedEvent[] {
  const run = new RunState(START);
  play(run);
  const entries = run.takeChange()?.entries ?? [];
  return entries.map(({ type, at, data }, index) => ({ seq: index + 1, type, at, data, execution_id: 'e' }));
}

const beginRun = (run: RunState) => {
  run.begin(START + 10);
  run.agentsChosen(
    { backend: 'rehearsal', steps: [step('design'), step('build')] } as unknown as Plan,
    START + 20,
  );
};
const picture = (events: readonly FeedEvent[]): RunPicture => events.reduce(withEvent, emptyPicture);
const lines = (events: readonly FeedEvent[], columns = 100, rows = 24, title = 'A title') =>
  drawRun(picture(events), title, { columns, rows, now: START + 5_000 }).map(stripVTControlCharacters);

describe('the picture of a run', () => {
  it('shows the steps as soon as they are planned', () => {
    const [title, state, ...steps] = lines(eventsOf(beginRun));
    assert.equal(title, 'A title');
    assert.match(state ?? '', /^executing {2}░{20} {2}0 of 2 steps {2}5\.0 s$/);
    assert.deepEqual(steps, ['  · design  designer', '  · build   builder']);
  });

  it('cuts a long title at the width of its characters', () => {
    assert.equal(lines(eventsOf(beginRun), 12, 24, '注文を確認する')[0], '注文を確認…');
    assert.equal(lines(eventsOf(beginRun), 11, 24, '注文を確認する')[0], '注文を確…');
    assert.equal(lines(eventsOf(beginRun), 15, 24, '注文を確認する')[0], '注文を確認する');
    assert.equal(lines(eventsOf(beginRun), 10, 24, '123456👩‍👩‍👧 and more')[0], '123456👩‍👩‍👧…');
  });

  it('shows the activity of each step', () => {
    const events = eventsOf((run) => {
      beginRun(run);
      run.stepStarted('id-design', 1, START + 100);
      run.stepCompleted(
        'id-design',
        { summary: 'All\u001b[2J clear', usage: null, message: null },
        START + 912,
      );
      run.stepStarted('id-build', 1, START + 1_000);
      run.stepFailed('id-build', 'step_failed', 'no luck', 500, START + 1_200);
      run.stepStarted('id-build', 2, START + 2_000);
    });
    const progress = {
      ...events[0],
      seq: 99,
      type: 'step.progress',
      at: '2026-01-31T12:00:03.000Z',
    } as FeedEvent;
    const progressOfBuild = {
      ...progress,
      data: { step: { id: 'id-build', name: 'build', agent: 'builder', attempt: 2 }, percent: 40 },
    };
    assert.deepEqual(lines([...events, progressOfBuild]).slice(1), [
      'executing  ██████████░░░░░░░░░░  1 of 2 steps  5.0 s',
      '  ✔ design  designer  812 ms  All\uFFFD[2J clear',
      '  ▶ build   builder   40 %  attempt 2  3.0 s',
    ]);
  });

  it('shows the end, the skipped steps and the callback', () => {
    const events = eventsOf((run) => {
      beginRun(run);
      run.stepStarted('id-design', 1, START + 100);
      run.stepFailed('id-design', 'step_failed', 'no way', null, START + 300);
      run.end('failed', null, START + 400);
    });
    const callback: FeedEvent = {
      seq: 50,
      type: 'callback.attempted',
      execution_id: 'e',
      at: '2026-01-31T12:00:03.000Z',
      data: {
        attempt: 1,
        outcome: 'failed',
        response_status: 500,
        message: 'The response has status 500',
        next_attempt_at: 'x',
      },
    };
    assert.deepEqual(lines([...events, callback]).slice(1), [
      'failed  ░░░░░░░░░░░░░░░░░░░░  0 of 2 steps  390 ms',
      '  ✘ design  designer  no way',
      '  - build   builder',
      '  callback attempt 1 failed: The response has status 500; another attempt follows',
    ]);
  });

  it('never wraps a line or exceeds the rows of the terminal', () => {
    const events = eventsOf((run) => {
      run.begin(START);
      const steps = Array.from({ length: 50 }, (_, index) => step(`step-${index}`));
      run.agentsChosen({ backend: 'rehearsal', steps } as unknown as Plan, START);
      for (const { id } of steps.slice(0, 30)) {
        run.stepStarted(id, 1, START);
        run.stepCompleted(id, { summary: 'x'.repeat(200), usage: null, message: null }, START);
      }
      run.stepStarted('id-step-30', 1, START);
    });
    const drawn = lines(events, 40, 15);
    assert.ok(drawn.length < 15, `${drawn.length} lines`);
    assert.ok(drawn.every((line) => line.length < 40));
    assert.ok(drawn.some((line) => line.includes('▶ step-30')));
  });

  it('describes every kind of event of the service', () => {
    const events = eventsOf((run) => {
      beginRun(run);
      run.pause({ by: 'user:ada@example.com', reason: 'lunch' }, START + 30);
      run.continue({ by: 'key:bt_1' }, START + 40);
      run.stepStarted('id-design', 2, START + 100);
      run.stepFailed('id-design', 'step_failed', 'no luck', 500, START + 200);
      run.stepEscalated('id-design', 'too hard', START + 300);
      run.end('escalated', null, START + 400);
    });
    assert.deepEqual(events.map(noteOf), [
      'state initializing -> planning',
      'state planning -> executing',
      'state executing -> paused by user:ada@example.com (lunch)',
      'state paused -> executing by key:bt_1',
      'step design (designer) started, attempt 2',
      'step design (designer) failed: no luck; retry in 500 ms',
      'design (designer) escalated: too hard',
      'state executing -> escalated',
      'run ended escalated after 390 ms',
    ]);
  });
});
