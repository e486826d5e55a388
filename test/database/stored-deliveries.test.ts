import assert from 'node:assert/strict';
import { randomUUIDv7 } from 'node:crypto';
import {
  moveToBacklog,
  storeDeliveries,
  type PlannedDelivery,
} from '../../src/database/webhooks/dispatch.ts';
import { useInstallation } from '../support/installation.ts';

describe('deliveries that are stored again after a crash', () => {
  const fresh = useInstallation();
  const execute = <Row>(text: string, values: unknown[] = []) =>
    fresh.database.em.fork().execute<Row[]>(text, values);
  let webhook: string;
  before(async () => {
    webhook = randomUUIDv7();
    await execute(
      `insert into webhooks (id, workspace_id, name, url, events, created_by, created_at, updated_at)
       values (?, ?, 'A webhook', 'https://example.com', '[]', 'key:test', now(), now())`,
      [webhook, fresh.installation.workspace_id],
    );
  });

  const planned = (status: PlannedDelivery['status'] = 'pending'): PlannedDelivery => ({
    id: randomUUIDv7(),
    workspace_id: fresh.installation.workspace_id,
    webhook_id: webhook,
    event_seq: 1,
    event_id: 'evt_1',
    event: 'issue.created',
    status,
    reason: null,
  });
  const store = async (...rows: PlannedDelivery[]) =>
    [...(await storeDeliveries(fresh.database, rows, new Date()))].toSorted();
  const idsOf = (...rows: PlannedDelivery[]) => rows.map(({ id }) => id).toSorted();
  const change = (row: PlannedDelivery, values: string) =>
    execute(`update deliveries set ${values} where id = ?`, [row.id]);

  it('wait for their first attempt at first, if they are not held or skipped', async () => {
    const [one, two, held, skipped] = [planned(), planned(), planned('held'), planned('skipped')];
    assert.deepEqual(await store(one, two, held, skipped), idsOf(one, two));
    const rows = await execute<{ id: string; status: string }>('select id, status from deliveries');
    assert.deepEqual(
      new Map(rows.map(({ id, status }) => [id, status])),
      new Map([one, two, held, skipped].map(({ id, status }) => [id, status])),
    );
  });

  it('may be thousands', async () => {
    const rows = Array.from({ length: 2_100 }, (_, index) =>
      planned(index % 700 === 0 ? 'skipped' : 'pending'),
    );
    const sent = rows[1_500] ?? assert.fail();
    await store(sent);
    await change(sent, `status = 'succeeded'`);
    const pending = rows.filter(({ status }) => status === 'pending');
    const waiting = pending.filter((row) => row !== sent);
    assert.deepEqual(await store(...rows), idsOf(...waiting));
    await moveToBacklog(fresh.database, idsOf(...rows).toReversed(), new Date());
    const moved = await execute<{ id: string }>('select id from deliveries where in_backlog');
    assert.deepEqual(moved.map(({ id }) => id).toSorted(), idsOf(...waiting));
  });

  it('wait only if nothing was recorded for them, and are stored once', async () => {
    const [waiting, sent, cancelled, moved, fresher] = [
      planned(),
      planned(),
      planned(),
      planned(),
      planned(),
    ];
    await store(waiting, sent, cancelled, moved);
    await change(sent, `status = 'succeeded'`);
    await change(cancelled, `status = 'cancelled'`);
    await change(moved, 'in_backlog = true');
    const again = [waiting, sent, cancelled, moved, fresher];
    assert.deepEqual(await store(...again), idsOf(waiting, fresher));
    const [count] = await execute<{ count: number }>(
      'select count(*)::integer as count from deliveries where id = any(?::uuid[])',
      [`{${idsOf(...again).join(',')}}`],
    );
    assert.equal(count?.count, 5);
  });

  it('are none if an event matches no webhook', async () => {
    assert.deepEqual(await store(), []);
  });
});
