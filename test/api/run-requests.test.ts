import assert from 'node:assert/strict';
import { randomUUID, randomUUIDv7 } from 'node:crypto';
import type { Dependencies } from '../../src/api/dependencies.ts';
import { eventRoutes } from '../../src/api/events/routes.ts';
import type { Caller } from '../../src/api/http/caller.ts';
import { idOfClaim } from '../../src/api/http/idempotency.ts';
import type { Call } from '../../src/api/http/route.ts';
import { applyAction, type ActionRequest } from '../../src/api/tasks/actions.ts';
import { rerunTask } from '../../src/api/tasks/rerun.ts';
import { submitTask } from '../../src/api/tasks/submit.ts';
import { findRun, insertRun, type NewRun } from '../../src/database/tasks/task-runs.ts';
import type { NewEvent } from '../../src/database/webhooks/events.ts';
import { createRateLimiter } from '../../src/domain/common/rate-limiter.ts';
import type { Submission } from '../../src/domain/tasks/task-submission.ts';
import { createAddressGuard } from '../../src/outbound/address-guard.ts';
import { callbackSecretContext } from '../../src/security/sealing.ts';
import { runToStart, type SignalOutcome } from '../../src/temporal/task-control.ts';
import { useInstallation } from '../support/installation.ts';
import { newRunRow, sharedSealing } from '../support/run-row.ts';

const NOW = new Date('2026-01-31T12:00:00.000Z');
const BASE_URL = 'https://baton.example';

describe('a request about a run', () => {
  const fresh = useInstallation();
  const execute = (text: string, values: unknown[] = []) => fresh.database.em.fork().execute(text, values);
  const caller = () => {
    const { workspace_id: workspaceId, project_id: projectId } = fresh.installation;
    return { kind: 'key', actor: 'key:1', label: 'key:bt_1', workspaceId, projectId } as unknown as Caller;
  };

  /** Returns dependencies that record what is admitted, started and signalled. `onSignal` changes the run. */
  function recording(
    outcome: SignalOutcome = 'accepted',
    onSignal: (id: string) => Promise<unknown> = async () => {},
  ) {
    const admitted: unknown[] = [];
    const started: unknown[] = [];
    const signals: unknown[] = [];
    const signal =
      (name: string) =>
      async (id: string, ...rest: unknown[]): Promise<SignalOutcome> => {
        signals.push([name, id, ...rest]);
        await onSignal(id);
        return outcome;
      };
    const deps = {
      database: fresh.database,
      baseUrl: BASE_URL,
      clock: () => NOW,
      sealing: sharedSealing,
      guard: createAddressGuard([]),
      admission: { admit: async (...given: unknown[]) => void admitted.push(given) },
      runStarter: { add: (run: unknown) => void started.push(run) },
      control: {
        view: async () => null,
        pause: signal('pause'),
        continue: signal('continue'),
        cancel: signal('cancel'),
      },
    } as unknown as Dependencies;
    return { deps, admitted, started, signals };
  }
  async function stored(fields: Partial<NewRun> = {}, change = ''): Promise<NewRun> {
    const run = newRunRow(fresh.installation, fields);
    await insertRun(fresh.database, run);
    if (change !== '') await execute(`update task_runs set ${change} where id = ?`, [run.id]);
    return run;
  }
  const accepted = (id: string) => ({
    execution_id: id,
    status_url: `${BASE_URL}/api/v1/tasks/${id}`,
    websocket_room: `workflow:${id}`,
  });
  const rowOf = async (id: string) => {
    const row = await findRun(fresh.database, id);
    assert.ok(row);
    return row;
  };

  describe('that submits it', () => {
    const submit = async (deps: Dependencies, fields: object, claim: Call['claim'] = null) => {
      const { project_id } = fresh.installation;
      const body = { title: 'T', project_id, ...fields } as Submission;
      const text = JSON.stringify({ ...body, metadata: undefined }).replace(
        /\}$/,
        ',"metadata":{"b":1,"10":2}}',
      );
      const answer = await submitTask(deps, caller(), { body, text, claim });
      return { ...answer, body: answer.body as ReturnType<typeof accepted> & { callback_secret: string } };
    };

    it('stores and starts what was sent, with defaults for the rest', async () => {
      const { deps, admitted, started } = recording();
      const { status, headers, body } = await submit(deps, {});
      const { callback_secret: secret, ...others } = body;
      assert.match(secret, /^[0-9a-f]{64}$/);
      assert.deepEqual([status, headers], [201, { Location: others.status_url }]);
      assert.deepEqual(others, accepted(others.execution_id));
      const row = await rowOf(others.execution_id);
      const { workspace_id, project_id, created_by, title, description, task_type, metadata, created_at } =
        row;
      assert.deepEqual(
        [{ workspace_id, project_id }, created_by, title, description, task_type, metadata, created_at],
        [
          { workspace_id: fresh.installation.workspace_id, project_id: fresh.installation.project_id },
          'key:1',
          'T',
          null,
          'feature',
          '{"b":1,"10":2}',
          NOW,
        ],
      );
      assert.deepEqual([row.callback_url, row.callback_status, row.rerun_of], [null, 'none', null]);
      assert.equal(sharedSealing.open(row.callback_secret, callbackSecretContext(row.id)), secret);
      assert.deepEqual(admitted, [['tasks', 1]]);
      assert.deepEqual(started, [runToStart(row, false)]);
      const given = { description: 'D', task_type: 'spec' as const, callback_url: 'https://example.com/' };
      const { body: other } = await submit(deps, given);
      const whole = await rowOf(other.execution_id);
      assert.deepEqual(
        { description: whole.description, task_type: whole.task_type, callback_url: whole.callback_url },
        given,
      );
      assert.notEqual(other.callback_secret, secret);
    });

    it('returns the run and the secret of the same claim again', async () => {
      const { deps, started } = recording();
      const claim = { scope: 'p', key: randomUUID(), claimedAt: NOW, takenAt: null };
      const first = await submit(deps, {}, claim);
      assert.equal(first.body.execution_id, idOfClaim(claim));
      assert.deepEqual(await submit(deps, { title: 'Again' }, { ...claim, takenAt: NOW }), first);
      assert.equal((await rowOf(first.body.execution_id)).title, 'T');
      assert.equal(started.length, 2);
    });

    it('is refused for another project, and for an address that is not allowed', async () => {
      const { deps, admitted } = recording();
      await assert.rejects(submit(deps, { project_id: randomUUID() }), { code: 'project_not_allowed' });
      await assert.rejects(submit(deps, { callback_url: 'https://10.0.0.1/' }), {
        code: 'validation_failed',
        message: '`callback_url` is not allowed: 10.0.0.1 is a private address.',
      });
      assert.deepEqual(admitted, []);
    });
  });

  it('that reruns it copies its submission, and returns the address of the callback', async () => {
    const { deps, admitted, started } = recording();
    const earlier = await stored(
      {
        title: 'Earlier',
        description: 'Why',
        task_type: 'chore',
        metadata: '{"b":1,"10":2}',
        callback_url: 'https://example.com/back',
        created_by: 'key:other',
      },
      `state = 'failed', completed_at = now()`,
    );
    const request = { id: earlier.id, fromStep: null, answer: null };
    const { status, headers, body } = await rerunTask(deps, caller(), request, null);
    const { callback_secret: secret, ...others } = body as { execution_id: string; callback_secret: string };
    const id = others.execution_id;
    assert.deepEqual([status, headers], [201, { Location: `${BASE_URL}/api/v1/tasks/${id}` }]);
    assert.deepEqual(others, {
      ...accepted(id),
      rerun_of: earlier.id,
      rerun_from: null,
      callback_url: 'https://example.com/back',
    });
    const row = await rowOf(id);
    assert.equal(sharedSealing.open(row.callback_secret, callbackSecretContext(id)), secret);
    const { callback_secret: _, ...submission } = earlier;
    const expected = { ...submission, id, created_by: 'key:1', created_at: NOW, rerun_of: earlier.id };
    assert.deepEqual({ ...row, ...expected }, { ...row });
    assert.deepEqual([admitted, started], [[['tasks', 1]], [runToStart(row, false)]]);
    for (const [fields, pointer] of [
      [{ fromStep: 'a' }, '/from_step'],
      [{ answer: 'yes' }, '/answer'],
    ] as const)
      await assert.rejects(rerunTask(deps, caller(), { ...request, ...fields }, null), (error: unknown) => {
        const { code, errors } = error as { code: string; errors: { pointer: string }[] };
        assert.deepEqual([code, errors.map((one) => one.pointer)], ['validation_failed', [pointer]]);
        return true;
      });
    await assert.rejects(rerunTask(deps, caller(), { ...request, id }, null), {
      code: 'invalid_state',
      message: 'The run is initializing. Only a run that has ended can be rerun.',
    });
  });

  describe('that pauses, continues or cancels it', () => {
    const limiterOf = (burst = 10) => createRateLimiter({ name: 'run', perSecond: 1, burst }, () => NOW);
    const paused = (question: string | null) =>
      `state = 'paused', paused_from = 'executing', last_seq = 1, question = ${
        question === null
          ? 'null'
          : `'{"id":"${question}","step":"s","agent":"a","text":"Why","at":"${NOW.toISOString()}"}'`
      }`;
    /** Returns a change of a run, which is not paused any more unless the change says so. */
    const set = (change: string) => (id: string) =>
      execute(
        `update task_runs set ${change.includes('paused_from') ? '' : 'paused_from = null, '}${change} where id = ?`,
        [id],
      );
    type Asked =
      | { action: 'pause' | 'cancel'; reason?: string }
      | { action: 'continue'; reason?: string; question?: string };
    const act = (deps: Dependencies, id: string, asked: Asked, limiter = limiterOf()) => {
      const request = { id, reason: asked.reason, action: asked.action };
      const question = 'question' in asked ? (asked.question ?? null) : null;
      const whole = asked.action === 'continue' ? { ...request, question } : request;
      return applyAction(deps, caller(), whole as ActionRequest, limiter);
    };

    it('signals who asked for it and why, and with what the run starts if it was not started', async () => {
      const running = await stored({}, `state = 'executing', last_seq = 1`);
      const pausing = recording('accepted', set(paused(null)));
      const { status, body } = await act(pausing.deps, running.id, { action: 'pause', reason: 'wait' });
      assert.deepEqual([status, (body as { state: string }).state], [202, 'paused']);
      assert.deepEqual(pausing.signals, [['pause', running.id, { by: 'key:bt_1', reason: 'wait' }, null]]);
      const unstarted = await stored();
      const cancelling = recording('accepted', set(`state = 'cancelled', completed_at = now()`));
      await act(cancelling.deps, unstarted.id, { action: 'cancel' });
      const start = runToStart(await rowOf(unstarted.id), false);
      assert.deepEqual(cancelling.signals, [['cancel', unstarted.id, { by: 'key:bt_1' }, start]]);
    });

    it('answers the open question; it must name the question if the run has asked more than one', async () => {
      const outcomes: unknown[] = [];
      for (const [open, question] of [
        [null, undefined],
        ['1', undefined],
        ['1', '1'],
        ['2', '2'],
        ['2', undefined],
        ['2', '1'],
        [null, '1'],
      ] as const) {
        const run = await stored({}, paused(open));
        const { deps, signals } = recording('accepted', set(`state = 'executing', question = null`));
        const asked = { action: 'continue', reason: 'yes', ...(question ? { question } : {}) } as const;
        const error = await act(deps, run.id, asked).then(
          () => null,
          (caught: unknown) => caught as Error,
        );
        const [control] = signals.map((sent) => (sent as unknown[])[2]);
        outcomes.push(error?.message ?? control);
      }
      const answered = (question: string | null) => ({ by: 'key:bt_1', reason: 'yes', question });
      assert.deepEqual(outcomes, [
        answered(null),
        answered('1'),
        answered('1'),
        answered('2'),
        'The run has asked more than one question. Name the open one, `question` 2.',
        'The question 1 is not open. The open one is 2.',
        'The question 1 is not open.',
      ]);
    });

    it('is shown once the next question is open, and counts as continued if the run ends right after', async () => {
      const asking = await stored({}, paused('1'));
      const next = recording('accepted', set(paused('2')));
      const { body } = await act(next.deps, asking.id, { action: 'continue' });
      assert.equal((body as { question: { id: string } }).question.id, '2');
      const last = await stored({}, paused('1'));
      const ending = recording('accepted', set(`state = 'completed', question = null, completed_at = now()`));
      const answer = await act(ending.deps, last.id, { action: 'continue' });
      assert.deepEqual([answer.status, (answer.body as { state: string }).state], [202, 'completed']);
    });

    it('is refused after the end, except a repeated cancel', async () => {
      const refusalOf = async (state: string, asked: Asked, outcome: SignalOutcome = 'accepted') => {
        const end = `state = '${state}', last_seq = 1, completed_at = now()`;
        const ended = outcome === 'accepted';
        const run = await stored({}, ended ? end : `state = 'executing', last_seq = 1`);
        const { deps, signals } = recording(outcome, set(end));
        const error = await act(deps, run.id, asked).then(
          () => null,
          (caught: unknown) => caught as Error & { code: string },
        );
        assert.equal(signals.length, ended ? 0 : 1);
        return error && `${error.code} ${error.message}`;
      };
      for (const outcome of ['accepted', 'ended'] as const) {
        const refused = (action: Asked['action']) => refusalOf('failed', { action }, outcome);
        const cannot = 'invalid_state The run is failed and cannot be';
        assert.equal(await refused('pause'), `${cannot} paused.`);
        assert.equal(await refused('continue'), `${cannot} continued.`);
        assert.equal(await refused('cancel'), `${cannot} cancelled.`);
        assert.equal(await refusalOf('cancelled', { action: 'cancel' }, outcome), null);
        assert.match(
          (await refusalOf('cancelled', { action: 'pause' }, outcome)) ?? '',
          /cancelled and cannot/,
        );
      }
    });

    it('is limited, except a cancel, and the limit is that of the run', async () => {
      const limiter = limiterOf(1);
      const [one, other] = [await stored({}, paused(null)), await stored({}, paused(null))];
      const { deps } = recording();
      await act(deps, one.id, { action: 'pause' }, limiter);
      for (const action of ['pause', 'continue'] as const)
        await assert.rejects(act(deps, one.id, { action }, limiter), {
          code: 'rate_limited',
          message: /^Too many pauses of this run\./,
        });
      await act(deps, other.id, { action: 'pause' }, limiter);
      const cancelling = recording('accepted', set(`state = 'cancelled', completed_at = now()`));
      assert.equal((await act(cancelling.deps, one.id, { action: 'cancel' }, limiter)).status, 202);
    });
  });
});

describe('a request with events', () => {
  const fresh = useInstallation();

  it('admits and stores each event once, and reports which ones were known', async () => {
    const admitted: unknown[] = [];
    const stored: NewEvent[] = [];
    const counted: unknown[] = [];
    const clock = { now: NOW.getTime() };
    const deps = {
      database: fresh.database,
      clock: () => new Date(clock.now),
      admission: { admit: async (...given: unknown[]) => void admitted.push(given) },
      batcher: {
        add: async (events: readonly NewEvent[]) => {
          stored.push(...events);
          return new Set(['known']);
        },
      },
      onEvents: (count: unknown) => void counted.push(count),
    } as unknown as Dependencies;
    const [route] = eventRoutes(deps);
    assert.ok(route);
    const workspaceId = fresh.installation.workspace_id;
    const send = async (form: 'one' | 'events', ids: string[], traceparent: string | null = null) => {
      const events = ids.map((id) => ({ id, event: 'issue.created', data: { issue: { id: '1' } } }));
      const text = JSON.stringify(form === 'one' ? events[0] : { events });
      const call = { caller: { workspaceId }, body: { form, events }, text, traceparent };
      const { status, body } = await route.handle(call as unknown as Call);
      assert.equal(status, 202);
      return body;
    };
    assert.deepEqual(await send('events', ['a', 'known', 'a', 'b']), {
      data: [
        { id: 'a', duplicate: false },
        { id: 'known', duplicate: true },
        { id: 'a', duplicate: true },
        { id: 'b', duplicate: false },
      ],
    });
    assert.deepEqual(await send('one', ['c'], 'the trace'), { id: 'c', duplicate: false });
    assert.deepEqual(admitted, [
      ['events', 3],
      ['events', 1],
    ]);
    assert.deepEqual(counted, [
      { sent: 4, duplicate: 2 },
      { sent: 1, duplicate: 0 },
    ]);
    assert.deepEqual(
      stored.map(({ id, traceparent = null }) => [id, traceparent]),
      [
        ['a', null],
        ['known', null],
        ['b', null],
        ['c', 'the trace'],
      ],
    );
    const nameIn = async () => {
      await send('one', [randomUUIDv7()]);
      return JSON.parse(stored.at(-1)?.body ?? '').workspace;
    };
    await fresh.database.em
      .fork()
      .execute(`update workspaces set name = 'Renamed' where id = ?`, [workspaceId]);
    clock.now += 59_999;
    assert.deepEqual(await nameIn(), { id: workspaceId, name: 'Test' });
    clock.now += 1;
    assert.deepEqual(await nameIn(), { id: workspaceId, name: 'Renamed' });
    assert.deepEqual([route.cost?.({ form: 'events', events: [1, 2, 3] }), route.limit], [3, 'events']);
  });
});
