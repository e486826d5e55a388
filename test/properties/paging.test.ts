import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import * as fc from 'fast-check';
import { sql } from 'kysely';
import { cutPage } from '../../src/api/http/fields.ts';
import { queryBuilderOf } from '../../src/database/database.ts';
import { listDeliveries } from '../../src/database/webhooks/deliveries.ts';
import { listRuns } from '../../src/database/tasks/task-runs.ts';
import { derivedUuid } from '../../src/database/common/ids.ts';
import { startWorld, type Sent, type World } from '../support/world.ts';
import { holdsAsync } from './property.ts';

/** A list that is read page by page, and into which `put` inserts rows with these ids. */
type List = {
  put(ids: readonly string[]): Promise<void>;
  page(cursor: string | undefined, limit: number): Promise<{ ids: string[]; next: string | null }>;
};
type CreateList = (world: World, owner: Sent) => Promise<List>;

const START = Date.parse('2026-01-01T00:00:00.000Z');

/** Creation times of rows in milliseconds, many of them equal, and of rows that are inserted between pages. */
const scenario = fc.record({
  times: fc.array(fc.nat(4), { maxLength: 30 }),
  limit: fc.integer({ min: 1, max: 12 }),
  arrivals: fc.array(fc.array(fc.nat(4), { maxLength: 3 }), { maxLength: 40 }),
});

describe('a paginated list, with rows inserted between pages', () => {
  let world: World;
  let owner: Sent;
  before(async () => {
    world = await startWorld({
      worker: false,
      environment: { WEBHOOKS_PER_WORKSPACE: '1000' },
    });
    owner = world.as(await world.signIn());
  });
  after(async () => await world.close());

  const LISTS: Record<string, CreateList> = { tasks: runsOfProject, deliveries: deliveriesOfWebhook };
  for (const [name, createList] of Object.entries(LISTS)) {
    it(`returns each row once, the newest first: ${name}`, async () => {
      await holdsAsync(
        [scenario],
        async ({ times, limit, arrivals }) => {
          const list = await createList(world, owner);
          const there = times.map((ms) => idAt(START + ms));
          await list.put(there);
          const shown: string[] = [];
          const waves = [...arrivals];
          for (let cursor: string | undefined; ; ) {
            const { ids, next } = await list.page(cursor, limit);
            assert.ok(ids.length <= limit && (next === null || ids.length === limit));
            shown.push(...ids);
            if (next === null) break;
            assert.equal(next, ids.at(-1));
            cursor = next;
            await list.put((waves.shift() ?? []).map((ms) => idAt(START + ms)));
          }
          assert.deepEqual(shown, shown.toSorted().toReversed());
          assert.equal(new Set(shown).size, shown.length);
          const known = new Set(there);
          assert.deepEqual(
            shown.filter((id) => known.has(id)),
            there.toSorted().toReversed(),
          );
        },
        60,
      );
    });
  }
});

/** Returns an id that begins with its time, like those of the service; the order within a millisecond is random. */
function idAt(time: number): string {
  return derivedUuid(new Date(time), randomUUID());
}

async function runsOfProject(world: World): Promise<List> {
  const { workspace_id } = world.installation;
  const project = randomUUID();
  const database = queryBuilderOf(world.database);
  const key = `P${project.replaceAll('-', '').slice(0, 8).toUpperCase()}`;
  await sql`insert into projects (id, workspace_id, name, key, created_at)
    values (${project}, ${workspace_id}, 'Paged', ${key}, now())`.execute(database);
  return {
    async put(ids) {
      for (const id of ids) {
        await sql`insert into task_runs (id, workspace_id, project_id, created_by, title, task_type, callback_secret,
            created_at, updated_at, state, last_seq, view_seq)
          values (${id}, ${workspace_id}, ${project}, 'key:test', 'one', 'chore', '', now(), now(), 'executing', 1, 1)`.execute(
          database,
        );
      }
    },
    async page(cursor, limit) {
      const filter = { projectIds: [project], limit, ...(cursor ? { cursor } : {}) };
      const { rows, nextCursor } = await listRuns(world.database, filter);
      return { ids: rows.map(({ id }) => id), next: nextCursor };
    },
  };
}

async function deliveriesOfWebhook(world: World, owner: Sent): Promise<List> {
  const { workspace_id: workspaceId } = world.installation;
  const plan = { name: 'Paged', url: 'http://127.0.0.1:9/', events: [{ event: 'issue.created' }] };
  const { json } = await world.send('POST', '/api/v1/webhooks', { ...owner, body: plan });
  const webhookId: string = json.id;
  const database = queryBuilderOf(world.database);
  return {
    async put(ids) {
      for (const id of ids) {
        await sql`insert into deliveries (id, workspace_id, webhook_id, event_seq, event_id, event, status,
            attempts_count, created_at, updated_at)
          values (${id}, ${workspaceId}, ${webhookId}, 0, ${`evt_${id}`}, 'issue.created', 'pending', 0, now(), now())`.execute(
          database,
        );
      }
    },
    async page(cursor, limit) {
      const found = await listDeliveries(world.database, {
        workspaceId,
        webhookId,
        cursor,
        limit: limit + 1,
      });
      const { rows, nextCursor } = cutPage(found, limit);
      return { ids: rows.map(({ id }) => id), next: nextCursor };
    },
  };
}
