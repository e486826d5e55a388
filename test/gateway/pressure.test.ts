import assert from 'node:assert/strict';
import type { FeedEvent } from '../../src/domain/feed-events.ts';
import { startWorld, type World } from '../support/world.ts';
import { SHARED_RINGS, startGateways } from '../support/gateways.ts';
import { openPlain, type PlainChannel } from '../support/plain-channel.ts';
import { eventually } from '../support/eventually.ts';
import { feedOf, quietRun, writeEvents } from './quiet-runs.ts';

/** A run whose step reports 1,000 times in a second. */
const BUSY = { steps: 4, step_ms: 1_000, progress_events: 1_000 };
const QUIET = { steps: 8, step_ms: 250, progress_events: 4 };
const VIEWERS = 20;
/** Both share this machine's processors, which is no fault of the channel. */
const ALLOWED_MS = 400;

describe('a run that reports 1,000 small steps a second', function () {
  this.timeout(120_000);
  let world: World;
  let token: string;
  let url: string;
  let close: () => Promise<void>;
  before(async () => {
    world = await startWorld({ environment: SHARED_RINGS });
    const { databaseUrl, taskQueue } = world.configuration;
    const started = await startGateways({ databaseUrl, taskQueue }, 1);
    url = started.gateways[0]?.url ?? '';
    close = started.close;
    token = (await world.send('POST', '/api/v1/tokens')).json.token;
  });
  after(async () => {
    await close();
    await world.close();
  });

  const submit = async (rehearsal: object) =>
    (await world.submit({ metadata: { rehearsal } })).json.execution_id as string;
  const viewersOf = async (id: string, count: number): Promise<PlainChannel[]> =>
    await Promise.all(
      Array.from({ length: count }, async () => {
        const plain = await openPlain(url, token);
        await plain.ask({ type: 'join', room: `workflow:${id}`, after: 0 });
        return plain;
      }),
    );
  const hasEnded = (id: string) => async () => {
    const { json } = await world.send('GET', `/api/v1/tasks/${id}`);
    return json.completed_at !== null;
  };

  it('has its reports merged before they are numbered, so that its viewers see few, the latest last', async () => {
    const id = await submit(BUSY);
    const [viewer] = (await viewersOf(id, 1)) as [PlainChannel];
    await eventually('it has ended', hasEnded(id), 60_000);
    const feed = await feedOf(world.database, id);
    await eventually('all is seen', () => viewer.eventsOf(id).length >= feed.length);
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

  it('holds the viewers of another run back by nothing that counts', async () => {
    const alone = await lagOf(QUIET);
    const busy = await Promise.all(Array.from({ length: 3 }, () => submit({ ...BUSY, steps: 20 })));
    const crowd = (await Promise.all(busy.map((id) => viewersOf(id, VIEWERS)))).flat();
    const beside = await lagOf(QUIET);
    console.log(
      `      from write to a viewer: ${alone} ms alone, ${beside} ms beside ${busy.length} busy runs`,
    );
    assert.ok(beside < 5 * alone + ALLOWED_MS, `${beside} ms beside them, ${alone} ms alone`);
    for (const id of busy) await world.send('POST', `/api/v1/tasks/${id}/cancel`);
    for (const plain of crowd) await plain.close();
  });

  it('nor does a flood of events that must not be merged', async () => {
    const alone = await lagOf(QUIET);
    const flooded = await quietRun(world.database, world.installation);
    const crowd = await viewersOf(flooded, VIEWERS);
    let isOver = false;
    const flood = async () => {
      while (!isOver) await writeEvents(world.database, flooded, { count: 100, bytes: 200 });
    };
    const flooding = flood();
    const beside = await lagOf(QUIET);
    isOver = true;
    await flooding;
    const feed = await feedOf(world.database, flooded);
    console.log(`      ${alone} ms alone, ${beside} ms beside a run with ${feed.length} events meanwhile`);
    assert.ok(beside < 5 * alone + ALLOWED_MS, `${beside} ms beside it, ${alone} ms alone`);
    for (const plain of crowd) {
      await eventually('the whole flood', () => plain.eventsOf(flooded).length >= feed.length);
      assert.deepEqual(plain.eventsOf(flooded), feed);
      await plain.close();
    }
  });

  /** Milliseconds from the write of an event to its arrival, the worst but one of a run's. */
  async function lagOf(rehearsal: object): Promise<number> {
    const id = await submit(rehearsal);
    const arrivals = new Map<number, number>();
    const [viewer] = (await viewersOf(id, 1)) as [PlainChannel];
    viewer.socket.on('message', (data: Buffer) => {
      const { type, event } = JSON.parse(data.toString());
      if (type === 'event') arrivals.set(event.seq, Date.now());
    });
    await eventually('it has ended', hasEnded(id), 60_000);
    const written = await writtenAt(id);
    await eventually('all is seen', () => viewer.eventsOf(id).length >= written.size);
    await viewer.close();
    const lags = [...arrivals].map(([seq, at]) => at - (written.get(seq) ?? Number.NaN));
    return lags.toSorted((a, b) => a - b).at(-2) ?? Number.NaN;
  }

  /** When each event was written, by PostgreSQL's clock, which is this machine's. */
  async function writtenAt(id: string): Promise<Map<number, number>> {
    const rows = await world.database.em
      .fork()
      .execute<{ seq: number; ms: number }[]>(
        'select seq, (extract(epoch from written_at) * 1000)::float8 as ms from task_events where execution_id = ?',
        [id],
      );
    return new Map(rows.map(({ seq, ms }) => [seq, ms]));
  }
});

/** The last report of each step. */
function lastReports(feed: readonly FeedEvent[]): { at: string; percent: number }[] {
  const last = new Map<string, { at: string; percent: number }>();
  for (const { type, at, data } of feed) {
    if (type !== 'step.progress') continue;
    const { step, percent } = data as { step: { id: string }; percent: number };
    last.set(step.id, { at, percent });
  }
  return [...last.values()];
}
