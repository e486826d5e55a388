import assert from 'node:assert/strict';
import { randomUUIDv7 } from 'node:crypto';
import { mock } from 'node:test';
import { createAdmission } from '../../src/api/admission.ts';
import { Problem } from '../../src/api/http/problem.ts';
import { MAX_WAITING_SECONDS } from '../../src/domain/common/limits.ts';
import { useInstallation } from '../support/installation.ts';

describe('work that is accepted while Temporal is unavailable', () => {
  const fresh = useInstallation();
  const execute = (text: string, values: unknown[] = []) => fresh.database.em.fork().execute(text, values);
  beforeEach(async () => {
    await execute('delete from event_groups');
    await execute('delete from task_runs');
  });
  afterEach(() => mock.restoreAll());

  const storeEvents = async (events: number, ageSeconds = 0) =>
    void (await execute(
      `insert into event_groups (id, created_at, events, bytes) values (?, now() - make_interval(secs => ?), ?, 2)`,
      [randomUUIDv7(), ageSeconds, events],
    ));
  const storeRun = async () =>
    void (await execute(
      `insert into task_runs (id, workspace_id, project_id, created_by, title, task_type, callback_secret, created_at,
                              updated_at, state)
       values (gen_random_uuid(), ?, ?, 'key:test', 'A task', 'chore', '', now(), now(), 'initializing')`,
      [fresh.installation.workspace_id, fresh.installation.project_id],
    ));
  const admissionWith = (isBehind = true) =>
    createAdmission({
      database: fresh.database,
      limits: { tasks: 2, events: 10 },
      isBehind: () => isBehind,
    });
  async function refusalOf(admitting: Promise<void>): Promise<string | null> {
    try {
      await admitting;
      return null;
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      assert.equal(error.code, 'unavailable');
      assert.equal(error.headers?.['Retry-After'], '5');
      return error.message;
    }
  }

  it('is limited, by its number in the database and what was accepted since it was counted', async () => {
    await storeEvents(4);
    await storeRun();
    const admission = admissionWith();
    assert.equal(await refusalOf(admission.admit('events', 4)), null);
    assert.match(
      (await refusalOf(admission.admit('events', 3))) ?? '',
      /, and 4 accepted events wait for it\./,
    );
    assert.equal(await refusalOf(admission.admit('events', 2)), null, 'a refused request does not count');
    assert.match((await refusalOf(admission.admit('events', 1))) ?? '', /accepted events wait/);
    assert.equal(await refusalOf(admission.admit('tasks', 1)), null, 'tasks have their own limit');
    assert.match(
      (await refusalOf(admission.admit('tasks', 1))) ?? '',
      /, and 1 accepted tasks wait for it\./,
    );
  });

  it('is counted again after a second', async () => {
    let now = 1_000;
    mock.method(performance, 'now', () => now);
    const admission = admissionWith();
    assert.equal(await refusalOf(admission.admit('events', 10)), null);
    now += 1_000;
    assert.notEqual(await refusalOf(admission.admit('events', 1)), null);
    now += 1;
    assert.equal(await refusalOf(admission.admit('events', 10)), null, 'the database has none of the others');
  });

  it('is refused if older work has waited for too long', async () => {
    await storeEvents(1, MAX_WAITING_SECONDS - 60);
    assert.equal(await refusalOf(admissionWith().admit('events', 1)), null);
    await storeEvents(1, MAX_WAITING_SECONDS + 60);
    assert.match((await refusalOf(admissionWith().admit('events', 1))) ?? '', /, and 2 accepted events wait/);
    assert.equal(await refusalOf(admissionWith().admit('tasks', 1)), null);
  });

  it('is not limited in a process whose starts succeed', async () => {
    await storeEvents(20, MAX_WAITING_SECONDS + 60);
    assert.equal(await refusalOf(admissionWith(false).admit('events', 100)), null);
  });
});
