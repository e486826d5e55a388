import assert from 'node:assert/strict';
import { createProgressMerger } from '../../src/activities/progress-merger.ts';
import { findLastProgress } from '../../src/database/tasks/feed.ts';
import { PROGRESS_EVENTS } from '../../src/domain/common/limits.ts';
import { eventually } from '../support/eventually.ts';
import { useRuns } from '../support/runs.ts';

/** Returns how many events a step may write that reports continuously for this time. */
const mostWithin = (ms: number) =>
  PROGRESS_EVENTS.burst + Math.ceil((ms / 1_000) * PROGRESS_EVENTS.perSecond);

describe('a progress report', function () {
  const runs = useRuns();

  const progressOf = async (id: string) =>
    (await runs.events(id)).filter(({ type }) => type === 'step.progress');

  it('becomes an event while reports are few', async () => {
    const id = await runs.submit({ rehearsal: { steps: 2, progress_events: 20, step_ms: 100 } });
    await runs.reaches(id, 'completed');
    const percents = (await progressOf(id)).map(({ data }) => data['percent']);
    const each = Array.from({ length: 20 }, (_, index) => (index + 1) * 5);
    assert.deepEqual(percents, [...each, ...each]);
  });

  for (const [speed, stepMs] of Object.entries({ 'within a second': 1_000, 'at once': 0 })) {
    it(`that is one of a thousand ${speed} is merged into a few events, and the last event has the final value`, async () => {
      const id = await runs.submit({ rehearsal: { steps: 1, progress_events: 1_000, step_ms: stepMs } });
      await runs.reaches(id, 'completed');
      const events = await runs.events(id);
      const progress = await progressOf(id);
      const [step] = (await runs.row(id)).steps;
      // The limit follows from the measured duration of the step.
      assert.ok(progress.length <= mostWithin(step?.duration_ms ?? 0) + 1, `${progress.length} events`);
      const written = await findLastProgress(runs.database, id, `step.progress:${step?.id}:1:`);
      assert.equal(written, 1_000);
      const percents = progress.map(({ data }) => Number(data['percent']));
      assert.equal(percents.at(-1), 100);
      assert.deepEqual(
        percents,
        percents.toSorted((a, b) => a - b),
      );
      const types = events.map(({ type }) => type);
      assert.ok(types.lastIndexOf('step.progress') < types.indexOf('step.completed'));
    });
  }

  it('of one run does not delay other runs', async () => {
    const busy = await runs.submit({ rehearsal: { steps: 1, progress_events: 1_000, step_ms: 60_000 } });
    await eventually('the first reports are recorded', async () => (await progressOf(busy)).length > 0);
    const other = await runs.submit({ rehearsal: { steps: 3, progress_events: 2 } });
    await runs.reaches(other, 'completed');
    assert.equal((await progressOf(other)).length, 6);
    assert.equal((await runs.row(busy)).state, 'executing', 'the busy run still reports');
    await runs.control.cancel(busy, { by: 'test' });
    await runs.reaches(busy, 'cancelled');
  });
});

describe('the merging of progress reports', () => {
  it('writes one batch at a time, and never makes a report wait', async () => {
    const written: number[] = [];
    const opened = Promise.withResolvers<void>();
    let underWay = 0;
    let most = 0;
    const merger = createProgressMerger<number>(
      async (reports) => {
        most = Math.max(most, (underWay += 1));
        await opened.promise;
        underWay -= 1;
        written.push(...reports);
      },
      () => 0,
    );
    for (let number = 1; number <= 500; number += 1) merger.report(number);
    assert.deepEqual([underWay, written], [1, []]);
    opened.resolve();
    await merger.flush();
    assert.equal(most, 1);
    assert.equal(written.at(-1), 500);
    assert.equal(written.length, PROGRESS_EVENTS.burst);
    merger.report(501);
    await merger.flush();
    assert.equal(written.at(-1), 500, 'no report is written after the end');
  });

  it('continues after a failed write with all reports so far', async () => {
    const written: number[] = [];
    let failures = 2;
    const merger = createProgressMerger<number>(async (reports) => {
      if (failures > 0) {
        failures -= 1;
        throw new Error('the database is away');
      }
      written.push(...reports);
    });
    merger.report(1);
    merger.report(2);
    await eventually('both are written', () => written.length === 2);
    assert.deepEqual(written, [1, 2]);
    await merger.drop();
  });

  it('reports at the end what could not be written', async () => {
    const merger = createProgressMerger<number>(() => Promise.reject(new Error('the database is away')));
    merger.report(1);
    await assert.rejects(merger.flush(), /the database is away/);
  });

  it('writes the latest of too many reports after a while, even without another report', async () => {
    const written: number[] = [];
    let now = 0;
    const merger = createProgressMerger<number>(
      async (reports) => void written.push(...reports),
      () => now,
    );
    for (let number = 1; number <= PROGRESS_EVENTS.burst; number += 1) merger.report(number);
    await eventually('the first burst is written', () => written.length === PROGRESS_EVENTS.burst);
    merger.report(98);
    merger.report(99);
    now = 1_000;
    await eventually('the latest report is written', () => written.at(-1) === 99);
    assert.ok(!written.includes(98));
    await merger.drop();
  });

  it('writes at most one burst at once, even after an idle hour', async () => {
    const written: number[] = [];
    let now = 0;
    const merger = createProgressMerger<number>(
      async (reports) => void written.push(...reports),
      () => now,
    );
    now = 3_600_000;
    for (let number = 1; number <= 500; number += 1) merger.report(number);
    await merger.flush();
    assert.equal(written.length, PROGRESS_EVENTS.burst);
    assert.equal(written.at(-1), 500);
  });

  it('writes a report separately as soon as the rate allows one more, and not before', async () => {
    const perReport = 1_000 / PROGRESS_EVENTS.perSecond;
    for (const [passed, expected] of [
      [perReport - 1, [99]],
      [perReport, [98, 99]],
    ] as const) {
      const written: number[] = [];
      let now = 0;
      const merger = createProgressMerger<number>(
        async (reports) => void written.push(...reports),
        () => now,
      );
      for (let number = 1; number <= PROGRESS_EVENTS.burst; number += 1) merger.report(number);
      await eventually('the first burst is written', () => written.length === PROGRESS_EVENTS.burst);
      now = passed;
      merger.report(98);
      merger.report(99);
      await merger.flush();
      assert.deepEqual(written.slice(PROGRESS_EVENTS.burst), expected);
    }
  });

  it('writes nothing after it was dropped', async () => {
    const written: number[] = [];
    const merger = createProgressMerger<number>(
      async (reports) => void written.push(...reports),
      () => 0,
    );
    merger.report(1);
    await merger.drop();
    merger.report(2);
    await merger.drop();
    assert.deepEqual(written, [1]);
  });
});
