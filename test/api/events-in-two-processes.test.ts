import assert from 'node:assert/strict';
import { pino } from 'pino';
import { bootstrap, type ApiProcess } from '../../src/api/server.ts';
import { eventually } from '../support/eventually.ts';
import { type Received, useWorld } from '../support/world.ts';
import { keyWith } from './keys.ts';

const PATH = '/api/v1/events';
const event = (id: string) => ({ id, event: 'issue.created', data: { issue: { id: '1' } } });

describe('events that two processes receive simultaneously', () => {
  const world = useWorld();
  let second: ApiProcess;
  let key: string;
  before(async () => {
    second = await bootstrap(world.configuration, pino({ level: 'silent' }));
    key = await keyWith(world, ['events:write']);
  });
  after(() => second?.close());

  const countOf = async (where: string): Promise<number> => {
    const pool = await world.database.em.getConnection().getNativeClient();
    const { rows } = await pool.query<{ n: number }>(`select count(*)::int as n from ${where}`);
    return rows[0]?.n ?? -1;
  };

  it('are stored once', async () => {
    const post = async (url: string, body: unknown): Promise<Pick<Received, 'status' | 'json'>> => {
      const headers = { 'X-API-Key': key, 'Content-Type': 'application/json' };
      const response = await fetch(`${url}${PATH}`, {
        method: 'POST',
        headers,
        body: JSON.stringify(body),
      });
      return { status: response.status, json: await response.json() };
    };
    for (let round = 0; round < 5; round += 1) {
      const one = event(`two-${round}`);
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          post(index % 2 ? world.api.url : second.url, index % 4 < 2 ? one : { events: [one] }),
        ),
      );
      const duplicates = answers.map(({ json }) => (json.data?.[0] ?? json).duplicate);
      assert.equal(duplicates.filter((duplicate) => duplicate === false).length, 1, JSON.stringify(answers));
      assert.equal(duplicates.filter((duplicate) => duplicate === true).length, 19);
      assert.equal(await countOf(`events where id = '${one.id}'`), 1);
    }
  });

  it('are dispatched by the reconciler if their process died before', async () => {
    const pool = await world.database.em.getConnection().getNativeClient();
    await pool.query(`
      with grouped as (
        insert into event_groups (id, created_at) values (gen_random_uuid(), now() - interval '4 s') returning id
      )
      insert into events (workspace_id, id, group_id, event, "timestamp", content_hash, body, received_at)
      select '${world.installation.workspace_id}', 'cut-off', id, 'issue.created', now(), '\\x00', '{}', now()
      from grouped
    `);
    const open = `event_groups where started_at is null and handed_at is null and created_at < now() - interval '3 s'`;
    await eventually('the group is started', async () => (await countOf(open)) === 0);
    await eventually('the reconciler reports it', () =>
      world.logged().includes('started groups of events that were stored but not started'),
    );
  });
});
