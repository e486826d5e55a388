import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { pino } from 'pino';
import { createBatcher, type Batcher } from '../../src/api/events/batcher.ts';
import { createGroupStore, type GroupStoreDependencies } from '../../src/api/events/group-store.ts';
import { Problem } from '../../src/api/http/problem.ts';
import type { Database } from '../../src/database/database.ts';
import { connectDatabase } from '../../src/database/connect.ts';
import type { NewEvent } from '../../src/database/webhooks/events.ts';
import { EngineUncertain, EngineUnavailable } from '../../src/temporal/task-control.ts';
import { eventually } from '../support/eventually.ts';
import { freshDatabase, type FreshDatabase } from '../support/services.ts';

const WORKSPACE = '00000000-0000-7000-8000-000000000001';
type Control = GroupStoreDependencies['control'];
type Rows = Record<string, unknown>[];

/** An engine that takes every group, and whose answers a test may change. */
class Engine implements Control {
  started: string[] = [];
  answering: (groupId: string) => Promise<void> = async () => {};
  settling: () => Promise<'started' | 'absent'> = async () => 'absent';
  ready: () => Promise<void> = async () => {};
  asked = 0;

  async dispatch(groupId: string): Promise<void> {
    this.started.push(groupId);
    await this.answering(groupId);
  }

  async confirmDispatch(): Promise<'started' | 'absent'> {
    return await this.settling();
  }
}

describe('events that are gathered', () => {
  let fresh: FreshDatabase;
  let database: Database;
  let engine: Engine;
  let gatherer: Batcher;
  let count = 0;

  const gathererOf = (control: Engine) =>
    createBatcher(
      createGroupStore({
        database,
        control,
        engineReady: async () => {
          control.asked += 1;
          await control.ready();
        },
        clock: () => new Date(),
        log: pino({ level: 'silent' }),
      }),
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
    await rows(`insert into workspaces (id, name, created_at) values ('${WORKSPACE}', 'Test', now())`);
  });
  beforeEach(() => {
    engine = new Engine();
    gatherer = gathererOf(engine);
  });
  afterEach(() => gatherer.close());
  after(async () => {
    await database.close();
    await fresh.drop();
  });

  it('leave at once when nothing is under way, and together when something is', async () => {
    const first = Promise.withResolvers<void>();
    engine.answering = () => first.promise;
    const all = [gatherer.add([event()])];
    all.push(...Array.from({ length: 10 }, () => gatherer.add([event()])));
    while (engine.started.length < 2) await new Promise(setImmediate);
    first.resolve();
    await Promise.all(all);
    assert.equal(engine.started.length, 2, 'the first one, and the ten that came meanwhile');
  });

  it('are full at a hundred, and a request is never split', async () => {
    const requests = [1, 60, 60, 40, 250].map((length) => Array.from({ length }, () => event()));
    await Promise.all(requests.map((request) => gatherer.add(request)));
    const groups = await rows(
      'select group_id, count(*)::int as n from events where id = any($1) group by 1',
      [requests.flat().map(({ id }) => id)],
    );
    assert.deepEqual(
      groups.map(({ n }) => n).toSorted((a, b) => Number(a) - Number(b)),
      [1, 60, 100, 250],
    );
    assert.equal(engine.started.length, 4);
  });

  it('are stored in the order in which they came, whatever their ids', async () => {
    const ids = Array.from({ length: 50 }, (_, index) => `o-${(index * 37) % 50}`);
    await Promise.all([gatherer.add([event()]), ...ids.map((id) => gatherer.add([event(id)]))]);
    assert.deepEqual(
      (await stored(...ids)).map(({ id }) => id),
      ids,
    );
  });

  it('refuse a conflict for the request that has it alone', async () => {
    await gatherer.add([event('held')]);
    const outcomes = await Promise.allSettled([
      gatherer.add([event()]),
      gatherer.add([event('mine'), event('held', 'other')]),
      gatherer.add([event('yours')]),
      gatherer.add([event('held'), event('ours')]),
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

  it('leave no group and no workflow where all of them were known', async () => {
    await gatherer.add([event('again')]);
    // A group of which nobody has noted yet that it has started would be started once more, to be sure.
    await eventually('the note', async () => {
      const open = await rows('select 1 from event_groups where started_at is null');
      return open.length === 0;
    });
    const before = await rows('select count(*) from event_groups');
    const known = await gatherer.add([event('again')]);
    assert.deepEqual([...known], ['again']);
    assert.equal(engine.started.length, 1);
    assert.deepEqual(await rows('select count(*) from event_groups'), before);
  });

  it('are no trouble to others when one of them can not be stored', async () => {
    const stranger = { ...event('stranger'), workspaceId: '00000000-0000-7000-8000-00000000dead' };
    const outcomes = await Promise.allSettled([
      gatherer.add([event()]),
      gatherer.add([event('good-1')]),
      gatherer.add([stranger]),
      gatherer.add([event('good-2')]),
    ]);
    assert.deepEqual(
      outcomes.map(({ status }) => status),
      ['fulfilled', 'fulfilled', 'rejected', 'fulfilled'],
    );
    assert.equal((await stored('good-1', 'good-2', 'stranger')).length, 2);
  });

  it('are stored once by two processes that get the same ones in other orders', async () => {
    const other = gathererOf(engine);
    for (let round = 0; round < 20; round += 1) {
      const ids = Array.from({ length: 40 }, (_, index) => `race-${round}-${index}`);
      const [mine, theirs] = await Promise.all([
        gatherer.add(ids.map((id) => event(id))),
        other.add(ids.toReversed().map((id) => event(id))),
      ]);
      assert.equal(mine.size + theirs.size, 40);
      assert.equal((await stored(...ids)).length, 40);
    }
    await other.close();
  });

  it('are all or nothing also where another process takes one of their ids in the same moment', async () => {
    const other = gathererOf(engine);
    for (let round = 0; round < 20; round += 1) {
      const ids = (name: string) => [`torn-${round}`, `${name}-${round}-1`, `${name}-${round}-2`];
      const outcomes = await Promise.allSettled([
        gatherer.add(ids('left').map((id) => event(id, 'left'))),
        other.add(ids('right').map((id) => event(id, 'right'))),
      ]);
      const names = outcomes.map(({ status }, index) =>
        status === 'fulfilled' ? ids(index ? 'right' : 'left') : [],
      );
      assert.equal(names.flat().length, 3, 'one of the two');
      const there = await stored(...ids('left'), ...ids('right'));
      assert.deepEqual(there.map(({ id }) => id).toSorted(), names.flat().toSorted());
    }
    await other.close();
  });

  describe('and whose start', () => {
    const refused = (reason: unknown) => reason instanceof EngineUnavailable;

    it('failed for certain are refused, and gone', async () => {
      engine.answering = () => Promise.reject(new EngineUnavailable('no'));
      await assert.rejects(gatherer.add([event('lost'), event('lost-2')]), refused);
      assert.deepEqual(await stored('lost', 'lost-2'), []);
      const left = await rows('select id from event_groups where id = any($1)', [engine.started]);
      assert.deepEqual(left, []);
    });

    it('is uncertain are taken when it turns out to have happened', async () => {
      engine.answering = () => Promise.reject(new EngineUncertain('?'));
      engine.settling = async () => 'started';
      assert.equal((await gatherer.add([event('sure')])).size, 0);
      assert.equal((await stored('sure')).length, 1);
    });

    for (const [what, settling] of [
      ['turns out not to have happened', async () => 'absent' as const],
      ['can not be settled', () => Promise.reject(new EngineUnavailable('no'))],
    ] as const) {
      it(`is uncertain are refused when it ${what}`, async () => {
        engine.answering = () => Promise.reject(new EngineUncertain('?'));
        engine.settling = settling;
        await assert.rejects(gatherer.add([event('unsure')]), refused);
        assert.deepEqual(await stored('unsure'), []);
      });
    }

    it('failed are taken when somebody else has started them meanwhile', async () => {
      engine.answering = async (groupId) => {
        await rows('update event_groups set started_at = now() where id = $1', [groupId]);
        throw new EngineUnavailable('no');
      };
      assert.equal((await gatherer.add([event('lucky')])).size, 0);
      assert.equal((await stored('lucky')).length, 1);
    });

    it('takes long are given up only when the engine is not there any more', async () => {
      const held = Promise.withResolvers<void>();
      engine.answering = () => held.promise;
      const slow = gatherer.add([event('slow')]);
      await eventually('it is asked whether it is there', () => engine.asked > 0);
      held.resolve();
      assert.equal((await slow).size, 0);
      engine.answering = () => new Promise(() => {});
      engine.ready = () => Promise.reject(new EngineUnavailable('no'));
      await assert.rejects(gatherer.add([event('hopeless')]), refused);
      assert.deepEqual(await stored('hopeless'), []);
    });

    it('failed make one ask first the next time', async () => {
      engine.answering = () => Promise.reject(new EngineUnavailable('no'));
      engine.ready = () => Promise.reject(new EngineUnavailable('no'));
      await assert.rejects(gatherer.add([event('first-out')]), refused);
      await assert.rejects(gatherer.add([event('second-out')]), refused);
      assert.equal(engine.started.length, 1);
      engine.answering = async () => {};
      engine.ready = async () => {};
      assert.equal((await gatherer.add([event('back')])).size, 0);
    });

    it('failed let go those that wait behind them', async () => {
      const held = Promise.withResolvers<void>();
      engine.answering = () => held.promise;
      const first = Array.from({ length: 2 }, () => gatherer.add(Array.from({ length: 100 }, () => event())));
      while (engine.started.length < 2) await new Promise(setImmediate);
      const waiting = gatherer.add([event('behind')]);
      const outcomes = Promise.allSettled([...first, waiting]);
      held.reject(new EngineUnavailable('no'));
      for (const outcome of await outcomes) {
        assert.equal(outcome.status, 'rejected');
      }
      assert.deepEqual(await stored('behind'), []);
      assert.equal(engine.started.length, 2);
    });
  });

  describe('and known from a group that nobody is known to have started', () => {
    async function orphan(id: string): Promise<string> {
      const [group] = await rows(
        'insert into event_groups (id, created_at) values (gen_random_uuid(), now()) returning id',
      );
      const { workspaceId, hash } = event(id);
      await rows(
        `insert into events (workspace_id, id, group_id, event, "timestamp", content_hash, body, received_at)
         values ($1, $2, $3, 'issue.created', now(), decode($4, 'hex'), '{}', now())`,
        [workspaceId, id, group?.['id'], hash],
      );
      return group?.['id'] as string;
    }

    it('have it started before they are confirmed', async () => {
      const group = await orphan('orphan');
      assert.deepEqual([...(await gatherer.add([event('orphan')]))], ['orphan']);
      assert.deepEqual(engine.started, [group]);
      const [row] = await rows('select started_at from event_groups where id = $1', [group]);
      assert.ok(row?.['started_at']);
    });

    it('are not confirmed when it does not start, but stay as they are', async () => {
      await orphan('stays');
      engine.answering = () => Promise.reject(new EngineUnavailable('no'));
      await assert.rejects(gatherer.add([event('stays')]), EngineUnavailable);
      assert.equal((await stored('stays')).length, 1);
    });

    it('are not confirmed when it is taken back in the same moment', async () => {
      const group = await orphan('goes');
      engine.answering = async () => {
        await rows('delete from events where group_id = $1', [group]);
        await rows('delete from event_groups where id = $1', [group]);
      };
      await assert.rejects(
        gatherer.add([event('goes')]),
        (error) => (error as Problem).code === 'unavailable',
      );
    });

    it('share the fate of the request that they repeat', async () => {
      const held = Promise.withResolvers<void>();
      engine.answering = () => held.promise;
      const both = [gatherer.add([event('shared')]), gatherer.add([event('shared')])];
      while (engine.started.length < 1) await new Promise(setImmediate);
      // Long enough for the second one to be found in the database.
      await new Promise((resolve) => setTimeout(resolve, 50));
      const outcomes = Promise.allSettled(both);
      held.reject(new EngineUnavailable('no'));
      for (const { status } of await outcomes) assert.equal(status, 'rejected');
      assert.equal(engine.started.length, 1);
      assert.deepEqual(await stored('shared'), []);
    });
  });

  it('are all taken care of before it closes', async () => {
    const taken = Promise.all(
      Array.from({ length: 30 }, (_, index) => gatherer.add([event(`last-${index}`)])),
    );
    await gatherer.close();
    assert.equal((await rows(`select id from events where id like 'last-%'`)).length, 30);
    assert.equal(
      (await rows('select id from event_groups where started_at is null and id = any($1)', [engine.started]))
        .length,
      0,
    );
    await taken;
  });
});
