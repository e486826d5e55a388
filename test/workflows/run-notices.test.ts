import assert from 'node:assert/strict';
import { randomUUIDv7 } from 'node:crypto';
import { pino } from 'pino';
import { createRunRecords } from '../../src/activities/run-records.ts';
import type { Catalogue } from '../../src/agents/catalogue.ts';
import { Member, Notification, User } from '../../src/database/people/entities.ts';
import { findOpenNotices } from '../../src/database/people/notices.ts';
import { TaskRun } from '../../src/database/tasks/entities.ts';
import { eraseRun } from '../../src/database/tasks/task-runs.ts';
import type { Role } from '../../src/domain/people/access.ts';
import { initialView } from '../../src/domain/tasks/task-run.ts';
import { startUnsentNotices } from '../../src/reconciler/forgotten-deliveries.ts';
import type { DeliveryControl } from '../../src/temporal/delivery-control.ts';
import { quietRun } from '../gateway/quiet-runs.ts';
import { eventually } from '../support/eventually.ts';
import { useRuns } from '../support/runs.ts';

const REASON = 'Two requirements contradict each other.';

describe('a run that needs a person', function () {
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

  async function asks(): Promise<string> {
    const id = await runs.submit({ rehearsal: { ask: { step: 2, question: 'May I?' } } });
    await runs.reaches(id, 'paused');
    await eventually('there are notifications', async () => (await noticesOf(id)).length > 0);
    return id;
  }

  it('that was escalated creates one notification with reason for every person who may take it over', async () => {
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

  it('with a question creates one notification with the question for every person who may answer', async () => {
    const id = await asks();
    const { question } = await runs.row(id);
    const notices = await noticesOf(id);
    assert.deepEqual(
      notices.map(({ user_id }) => user_id).toSorted(),
      (['member', 'admin', 'owner'] as const).map((role) => people.get(role) ?? '').toSorted(),
    );
    assert.equal(notices[0]?.kind, 'task.asked');
    assert.deepEqual(notices[0]?.detail, {
      execution_id: id,
      question_id: '1',
      question: 'May I?',
      step: 'implement',
      agent: 'developer',
      asked_at: question?.at,
      title: 'A test',
      project: 'Test',
    });
    const isOpen = async () => (await findOpenNotices(runs.database, notices)).size;
    assert.equal(await isOpen(), 3);
    await runs.control.continue(id, { by: 'test', reason: 'yes', question: '1' }, null);
    await runs.reaches(id, 'completed');
    assert.equal(await isOpen(), 0);
    assert.equal((await noticesOf(id)).length, 3);
  });

  it('has no open question if a person pauses it after the answer', async () => {
    const id = await asks();
    const notices = await noticesOf(id);
    assert.equal((await findOpenNotices(runs.database, notices)).size, 3);
    // As if it had been answered, and then paused.
    await runs.database.em.fork().nativeUpdate(TaskRun, { id }, { question: null });
    assert.equal((await findOpenNotices(runs.database, notices)).size, 0);
    await runs.control.cancel(id, { by: 'test' }, null);
  });

  it('that was escalated creates its notifications once if its end is recorded again with a later time', async () => {
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

  it('has its notifications deleted with it', async () => {
    const id = await escalated();
    const { workspace_id } = runs.installation;
    assert.ok(
      await eraseRun(runs.database, { id, workspaceId: workspace_id, actor: 'test', now: new Date() }),
    );
    assert.deepEqual(await noticesOf(id), []);
  });

  it('is the only kind of run that creates notifications', async () => {
    const id = await runs.submit({ rehearsal: { unrecoverable: { step: 1 } } });
    await runs.reaches(id, 'failed');
    assert.deepEqual(await noticesOf(id), []);
  });

  it('has its e-mails sent by a workflow that the reconciler starts', async () => {
    const id = await escalated();
    const asking = await asks();
    const started: string[] = [];
    const deliveryControl = {
      notify: async (reason: { executionId?: string }) => void started.push(reason.executionId ?? ''),
    } as unknown as DeliveryControl;
    const later = new Date(Date.now() + 10_000);
    const dependencies = { database: runs.database, deliveryControl, log: pino({ level: 'silent' }) };
    await startUnsentNotices({ ...dependencies, clock: () => later });
    await startUnsentNotices({ ...dependencies, clock: () => later });
    assert.deepEqual(started.filter((one) => [id, asking].includes(one)).toSorted(), [id, asking].toSorted());
    await runs.control.cancel(asking, { by: 'test' }, null);
  });
});
