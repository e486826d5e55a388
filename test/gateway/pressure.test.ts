import assert from 'node:assert/strict';
import type { FeedEvent } from '../../src/domain/tasks/feed-events.ts';
import { eventually } from '../support/eventually.ts';
import { openPlain, type PlainChannel } from '../support/plain-channel.ts';
import { useWorld } from '../support/world.ts';
import { feedOf, quietRun, writeEvents } from './quiet-runs.ts';

/** A run whose steps report 1,000 times each in half a second. */
const BUSY = { steps: 2, step_ms: 500, progress_events: 1_000 };
const VIEWERS = 20;

describe('a run with many events', () => {
  const world = useWorld();

  const viewersOf = async (id: string, count: number): Promise<PlainChannel[]> => {
    const { token } = (await world.send('POST', '/api/v1/tokens')).json;
    return await Promise.all(
      Array.from({ length: count }, async () => {
        const plain = await openPlain(world.api.url, token);
        await plain.ask({ type: 'join', room: `workflow:${id}`, after: 0 });
        return plain;
      }),
    );
  };

  it('has its reports merged, and viewers get the last one of each step', async () => {
    const { json } = await world.submit({ metadata: { rehearsal: BUSY } });
    const id = json.execution_id as string;
    const [viewer] = (await viewersOf(id, 1)) as [PlainChannel];
    await world.reaches(id, 'completed');
    const feed = await feedOf(world.database, id);
    await eventually('the viewer has all events', () => viewer.eventsOf(id).length >= feed.length);
    assert.deepEqual(viewer.eventsOf(id), feed);
    const reports = feed.filter(({ type }) => type === 'step.progress');
    assert.ok(
      reports.length < (BUSY.steps * BUSY.progress_events) / 4,
      `${reports.length} reports are in the feed`,
    );
    for (const { at, percent } of lastReports(feed))
      assert.ok(percent >= 99, `the last report at ${at}: ${percent}`);
    const others = feed.filter(({ type }) => type !== 'step.progress').map(({ type }) => type);
    const each = ['step.started', 'agent.message', 'step.completed'];
    for (const type of each) assert.equal(others.filter((other) => other === type).length, BUSY.steps, type);
    await viewer.close();
  });

  it('does not block the events of another run', async () => {
    const [flooded, quiet] = [
      await quietRun(world.database, world.installation),
      await quietRun(world.database, world.installation),
    ];
    const crowd = await viewersOf(flooded, VIEWERS);
    const [viewer] = (await viewersOf(quiet, 1)) as [PlainChannel];
    let isOver = false;
    const flood = async () => {
      while (!isOver) await writeEvents(world.database, flooded, { count: 100, bytes: 200 });
    };
    const flooding = flood();
    try {
      for (let count = 1; count <= 10; count += 1) {
        await writeEvents(world.database, quiet, { count: 1, bytes: 200 });
        await eventually(`event ${count}`, () => viewer.eventsOf(quiet).length >= count);
      }
    } finally {
      isOver = true;
      await flooding;
    }
    const feed = await feedOf(world.database, flooded);
    for (const plain of crowd) {
      await eventually('all events arrive', () => plain.eventsOf(flooded).length >= feed.length);
      assert.deepEqual(plain.eventsOf(flooded), feed);
      await plain.close();
    }
    await viewer.close();
  });
});

/** Returns the last report of each step. */
function lastReports(feed: readonly FeedEvent[]): { at: string; percent: number }[] {
  const last = new Map<string, { at: string; percent: number }>();
  for (const { type, at, data } of feed) {
    if (type !== 'step.progress') continue;
    const { step, percent } = data as { step: { id: string }; percent: number };
    last.set(step.id, { at, percent });
  }
  return [...last.values()];
}
