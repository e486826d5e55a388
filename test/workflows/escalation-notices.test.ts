import assert from 'node:assert/strict';
import { randomUUIDv7 } from 'node:crypto';
import { pino } from 'pino';
import { createRunRecords } from '../../src/activities/run-records.ts';
import type { Catalogue } from '../../src/agents/catalogue.ts';
import { Member, Notification, User } from '../../src/database/people/entities.ts';
import type { Role } from '../../src/domain/people/access.ts';
import { initialView } from '../../src/domain/tasks/task-run.ts';
import { startUnsentNotices } from '../../src/reconciler/forgotten-deliveries.ts';
import type { DeliveryControl } from '../../src/temporal/delivery-control.ts';
import { quietRun } from '../gateway/quiet-runs.ts';
import { useRuns } from '../support/runs.ts';

const REASON = 'Two requirements contradict each other.';

describe('an escalated run', function () {
  const runs = useRuns();
  const people = new Map<Role, string>();
  before(async () => {
    for (const role of ['viewer', 'member', 'admin'] as const) people.set(role, await addPerson(role));
    const owner = await runs.database.em.fork().findOneOrFail(User, { email: runs.installation.admin_email });
    people.set('owner', owner.id);
  });

  async function addPerson(role: Role): Promise<string> {
    const [id, em, created_at] = [randomUUIDv7(), runs.database.em.fork(), new Date()];
    await em.insert(User, {
      id,
      email: `${role}-${runs.installation.admin_email}`,
      name: role,
      password_hash: null,
      created_at,
    });
    const { workspace_id } = runs.installation;
    await em.insert(Member, { workspace_id, user_id: id, role, created_at });
    return id;
  }

  const noticesOf = (id: string) =>
    runs.database.em.fork().find(Notification, { subject: `task:${id}` }, { orderBy: { id: 'asc' } });
  async function escalated(): Promise<string> {
    const id = await runs.submit({ rehearsal: { escalate: { step: 2, reason: REASON } } });
    await runs.reaches(id, 'escalated');
    await runs.ends(id);
    return id;
  }

  it('creates one notification with reason and link for every person who may take it over', async () => {
    const id = await escalated();
    const notices = await noticesOf(id);
    assert.deepEqual(
      notices.map(({ user_id }) => user_id).toSorted(),
      (['member', 'admin', 'owner'] as const).map((role) => people.get(role) ?? '').toSorted(),
    );
    const { escalation } = await runs.row(id);
    const [notice] = notices;
    assert.equal(notice?.kind, 'task.escalated');
    assert.deepEqual(notice?.detail, {
      execution_id: id,
      reason: REASON,
      step: 'implement',
      agent: 'developer',
      escalated_at: escalation?.at,
      title: 'A test',
      project: 'Test',
    });
  });

  it('creates its notifications once if its end is recorded again with a later time', async () => {
    const { database, installation } = runs;
    const id = await quietRun(database, installation);
    const catalogue = {} as Catalogue;
    const records = createRunRecords({ database, catalogue, callBack: async () => false });
    for (const at of ['2026-01-01T10:00:00.000Z', '2026-01-01T10:00:07.000Z']) {
      const escalation = { reason: REASON, step: 'implement', agent: 'developer', at };
      const ended = { state: 'escalated' as const, started_at: at, completed_at: at, duration_ms: 0 };
      const view = { ...initialView(), ...ended, escalation };
      const entry = { key: 'run.ended', type: 'run.ended' as const, at, data: {} };
      await records.recordRun({ executionId: id, view, entries: [entry] });
    }
    const notices = await noticesOf(id);
    assert.equal(notices.length, 3);
    assert.equal(notices[0]?.detail['escalated_at'], '2026-01-01T10:00:00.000Z');
  });

  it('is the only end of a run that creates notifications', async () => {
    const id = await runs.submit({ rehearsal: { unrecoverable: { step: 1 } } });
    await runs.reaches(id, 'failed');
    assert.deepEqual(await noticesOf(id), []);
  });

  it('has its e-mails sent by a workflow that the reconciler starts', async () => {
    const id = await escalated();
    const started: string[] = [];
    const deliveryControl = {
      notify: async (reason: { executionId?: string }) => void started.push(reason.executionId ?? ''),
    } as unknown as DeliveryControl;
    const later = new Date(Date.now() + 10_000);
    const dependencies = { database: runs.database, deliveryControl, log: pino({ level: 'silent' }) };
    await startUnsentNotices({ ...dependencies, clock: () => later });
    assert.ok(started.includes(id));
  });
});
