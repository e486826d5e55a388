import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { createBatcher, type Batcher } from '../../src/api/events/batcher.ts';
import type { GroupToStart } from '../../src/api/events/group-starter.ts';
import { createGroupStore } from '../../src/api/events/group-store.ts';
import { Problem } from '../../src/api/http/problem.ts';
import type { Database } from '../../src/database/database.ts';
import { connectDatabase } from '../../src/database/connect.ts';
import { claimGroups, markGroupsDone } from '../../src/database/webhooks/dispatch.ts';
import { listUnstartedGroups, markGroupsStarted, type NewEvent } from '../../src/database/webhooks/events.ts';
import { freshDatabase, type FreshDatabase } from '../support/services.ts';

const WORKSPACE = '00000000-0000-7000-8000-000000000001';
const OTHER_WORKSPACE = '00000000-0000-7000-8000-000000000002';
type Rows = Record<string, unknown>[];

describe('batched events', () => {
  let fresh: FreshDatabase;
  let database: Database;
  let toStart: GroupToStart[];
  let batcher: Batcher;
  let count = 0;

  const newBatcher = (clock?: () => number) =>
    createBatcher(
      createGroupStore({
        database,
        starter: { add: (group) => void toStart.push(group) },
        clock: () => new Date(),
      }),
      undefined,
      clock,
    );
  const rows = async (sql: string, values: unknown[] = []): Promise<Rows> => {
    const pool = await database.em.getConnection().getNativeClient();
    return (await pool.query(sql, values)).rows as Rows;
  };
  const stored = (...ids: string[]) => rows('select * from events where id = any($1) order by seq', [ids]);
  const event = (id = `e${(count += 1)}`, content = ''): NewEvent => ({
    workspaceId: WORKSPACE,
    id,
    event: 'issue.created',
    timestamp: '2026-01-31T12:00:00.000Z',
    hash: createHash('sha256').update(content).digest('hex'),
    body: `{"a":"\\"{},\\\\${content}"}`,
    words: id,
  });

  before(async () => {
    fresh = await freshDatabase();
    database = await connectDatabase(fresh.url);
    for (const id of [WORKSPACE, OTHER_WORKSPACE])
      await rows(`insert into workspaces (id, name, created_at) values ('${id}', 'Test', now())`);
  });
  beforeEach(() => {
    toStart = [];
    batcher = newBatcher();
  });
  afterEach(() => batcher.close());
  after(async () => {
    await database.close();
    await fresh.drop();
  });

  it('are stored immediately when idle, and together while others are being stored', async () => {
    // No time passes, so the window of the next group does not end before the first one is stored.
    const { add } = newBatcher(() => 0);
    await Promise.all(Array.from({ length: 11 }, () => add([event()])));
    assert.deepEqual(
      toStart.map(({ events }) => events),
      [1, 10],
      'the first request, and together the ten that arrived while it was stored',
    );
  });

  it('are passed to the starter with their size after they are stored', async () => {
    const [first, second] = [event(), event()];
    await batcher.add([first, second]);
    const [group] = toStart;
    assert.deepEqual([group?.events, group?.bytes], [2, first.body.length + second.body.length]);
    const [row] = await rows('select events, bytes from event_groups where id = $1', [group?.id]);
    assert.deepEqual(row, { events: group?.events, bytes: group?.bytes });
    assert.equal((await stored(first.id))[0]?.['group_id'], group?.id);
  });

  it('of a workspace with several are in a group of their own, and single ones of other workspaces in another', async () => {
    const { add } = newBatcher(() => 0);
    const ofOther = { ...event('quiet'), workspaceId: OTHER_WORKSPACE };
    // The first request is stored alone, the others together.
    const requests = [[event()], [event('burst-1')], [ofOther], [event('burst-2'), event('burst-3')]];
    await Promise.all(requests.map((events) => add(events)));
    assert.deepEqual(
      toStart.slice(1).map(({ events, workspaces }) => [events, workspaces]),
      [
        [3, [WORKSPACE]],
        [1, [OTHER_WORKSPACE]],
      ],
    );
    const [, burst, quiet] = toStart.map(({ id }) => id);
    const groups = (await stored('burst-1', 'quiet', 'burst-2', 'burst-3')).map(({ id, group_id }) => [
      id,
      group_id,
    ]);
    assert.deepEqual(groups, [
      ['burst-1', burst],
      ['quiet', quiet],
      ['burst-2', burst],
      ['burst-3', burst],
    ]);
  });

  it('belong to the first workflow that claims them, which can claim them again', async () => {
    await batcher.add([event('claimed')]);
    const ids = toStart.map(({ id }) => id);
    const claim = async (workflow: string) => {
      const { events, isRepeat } = await claimGroups(database, ids, workflow);
      return { ids: events.map(({ id }) => id), isRepeat };
    };
    assert.deepEqual(await claim('first'), { ids: ['claimed'], isRepeat: false });
    assert.deepEqual(await claim('second'), { ids: [], isRepeat: false });
    assert.deepEqual(await claim('first'), { ids: ['claimed'], isRepeat: true });
    await markGroupsDone(database, ids, 'second', new Date());
    const done = () => rows('select 1 from event_groups where id = any($1) and done_at is not null', [ids]);
    assert.deepEqual(await done(), []);
    await markGroupsDone(database, ids, 'first', new Date());
    assert.equal((await done()).length, 1);
  });

  it('of a later group are started again if no workflow claims them in time', async () => {
    for (const id of ['first', 'behind']) await batcher.add([event(id)]);
    const [first = '', behind = ''] = toStart.map(({ id }) => id);
    await markGroupsStarted(database, [first, behind]);
    const unstarted = async (handedBefore: Date) =>
      (await listUnstartedGroups(database, { before: new Date(Date.now() + 1_000), handedBefore }, 1_000))
        .map(({ id }) => id)
        .filter((id) => id === first || id === behind);
    assert.deepEqual(await unstarted(new Date(Date.now() - 60_000)), [], 'a workflow has just received it');
    assert.deepEqual(await unstarted(new Date(Date.now() + 1_000)), [behind]);
    await claimGroups(database, [first, behind], 'a workflow');
    assert.deepEqual(await unstarted(new Date(Date.now() + 1_000)), []);
  });

  it('are grouped up to 100, without splitting a request', async () => {
    const requests = [1, 60, 60, 40, 250].map((length) => Array.from({ length }, () => event()));
    const { add } = newBatcher(() => 0);
    await Promise.all(requests.map((request) => add(request)));
    const groups = await rows(
      'select group_id, count(*)::int as n from events where id = any($1) group by 1',
      [requests.flat().map(({ id }) => id)],
    );
    assert.deepEqual(
      groups.map(({ n }) => n).toSorted((a, b) => Number(a) - Number(b)),
      [1, 60, 100, 250],
    );
    assert.equal(toStart.length, 4);
  });

  it('are stored in the order of arrival, regardless of their ids', async () => {
    const ids = Array.from({ length: 50 }, (_, index) => `o-${(index * 37) % 50}`);
    // The events are in one group, however slowly they are added.
    const { add } = newBatcher(() => 0);
    await Promise.all([add([event()]), ...ids.map((id) => add([event(id)]))]);
    assert.deepEqual(
      (await stored(...ids)).map(({ id }) => id),
      ids,
    );
  });

  it('have ids of their own in each workspace, also if one of them is repeated in the same batch', async () => {
    const other = { ...event('same id'), workspaceId: OTHER_WORKSPACE };
    await batcher.add([event('same id')]);
    // The other two requests arrive while the first one is stored, so they are stored together.
    const { add } = newBatcher(() => 0);
    const [, repeated, accepted] = await Promise.all([add([event()]), add([event('same id')]), add([other])]);
    assert.deepEqual([repeated, accepted], [new Set(['same id']), new Set()]);
    const workspaces = (await stored('same id')).map((row) => row['workspace_id']);
    assert.deepEqual(workspaces, [WORKSPACE, OTHER_WORKSPACE]);
  });

  it('cause an error only for the request with the conflict', async () => {
    await batcher.add([event('held')]);
    const outcomes = await Promise.allSettled([
      batcher.add([event()]),
      batcher.add([event('mine'), event('held', 'other')]),
      batcher.add([event('yours')]),
      batcher.add([event('held'), event('ours')]),
    ]);
    assert.deepEqual(
      outcomes.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled', 'fulfilled'],
    );
    assert.deepEqual((outcomes[3] as PromiseFulfilledResult<Set<string>>).value, new Set(['held']));
    assert.ok((outcomes[1] as PromiseRejectedResult).reason instanceof Problem);
    assert.deepEqual(
      (await stored('mine', 'yours', 'ours')).map(({ id }) => id),
      ['yours', 'ours'],
    );
  });

  it('create no group and no workflow if all are duplicates', async () => {
    await batcher.add([event('again')]);
    const before = await rows('select count(*) from event_groups');
    const known = await batcher.add([event('again')]);
    assert.deepEqual([...known], ['again']);
    assert.equal(toStart.length, 1);
    assert.deepEqual(await rows('select count(*) from event_groups'), before);
  });

  it('are stored even if another event of the group cannot be stored', async () => {
    const unstorable = { ...event('unstorable'), workspaceId: '00000000-0000-7000-8000-00000000dead' };
    const outcomes = await Promise.allSettled([
      batcher.add([event()]),
      batcher.add([event('good-1')]),
      batcher.add([unstorable]),
      batcher.add([event('good-2')]),
    ]);
    assert.deepEqual(
      outcomes.map(({ status }) => status),
      ['fulfilled', 'fulfilled', 'rejected', 'fulfilled'],
    );
    assert.equal((await stored('good-1', 'good-2', 'unstorable')).length, 2);
  });

  it('are stored once by two processes that receive them in different orders', async () => {
    const other = newBatcher();
    for (let round = 0; round < 20; round += 1) {
      const ids = Array.from({ length: 40 }, (_, index) => `race-${round}-${index}`);
      const [mine, theirs] = await Promise.all([
        batcher.add(ids.map((id) => event(id))),
        other.add(ids.toReversed().map((id) => event(id))),
      ]);
      assert.equal(mine.size + theirs.size, 40);
      assert.equal((await stored(...ids)).length, 40);
    }
    await other.close();
  });

  it('of a request are stored together or not at all if another process uses one of their ids', async () => {
    const other = newBatcher();
    for (let round = 0; round < 20; round += 1) {
      const ids = (name: string) => [`torn-${round}`, `${name}-${round}-1`, `${name}-${round}-2`];
      const outcomes = await Promise.allSettled([
        batcher.add(ids('left').map((id) => event(id, 'left'))),
        other.add(ids('right').map((id) => event(id, 'right'))),
      ]);
      const names = outcomes.map(({ status }, index) =>
        status === 'fulfilled' ? ids(index ? 'right' : 'left') : [],
      );
      assert.equal(names.flat().length, 3, 'one of the two requests is stored');
      const there = await stored(...ids('left'), ...ids('right'));
      assert.deepEqual(there.map(({ id }) => id).toSorted(), names.flat().toSorted());
    }
    await other.close();
  });

  it('are all stored before the batcher closes', async () => {
    const taken = Promise.all(
      Array.from({ length: 30 }, (_, index) => batcher.add([event(`last-${index}`)])),
    );
    await batcher.close();
    assert.equal((await rows(`select id from events where id like 'last-%'`)).length, 30);
    assert.equal(
      toStart.reduce((sum, { events }) => sum + events, 0),
      30,
    );
    await taken;
  });
});
