import assert from 'node:assert/strict';
import { verify } from '@octokit/webhooks-methods';
import { eventually } from '../support/eventually.ts';
import { startRuns, type Runs } from '../support/runs.ts';
import { selfSigned } from '../support/certificates.ts';
import { startReceiver, type Receiver } from '../support/receiver.ts';
import { services } from '../support/services.ts';

const SECRET = 'a'.repeat(64);

describe('the callback of a run', function () {
  let runs: Runs;
  let receiver: Receiver;
  before(async () => {
    runs = await startRuns();
  });
  after(() => runs.close());
  beforeEach(async () => {
    receiver = await startReceiver({ tls: services().tls, name: 'localhost' });
  });
  afterEach(() => receiver.close());

  const submit = (rehearsal = {}) =>
    runs.submit({
      rehearsal: { steps: 1, ...rehearsal },
      callbackUrl: `${receiver.url}/done?x=1`,
      secret: SECRET,
    });
  const settled = (id: string, withinMs = 60_000) =>
    eventually(
      'the callback is settled',
      async () => {
        const row = await runs.row(id);
        return row.callback_status !== 'pending' && row;
      },
      withinMs,
    );

  it('is one signed POST of the result, after the state is stored', async () => {
    let stateOnArrival: string | undefined;
    receiver.answering((request, response) => {
      const { execution_id } = JSON.parse(request.body.toString());
      void runs.row(execution_id).then((row) => {
        stateOnArrival = row.state;
        response.writeHead(204).end();
      });
      return undefined;
    });
    const id = await submit();
    const [request] = await receiver.receives(1);
    assert.ok(request);
    assert.equal(request.method, 'POST');
    assert.equal(request.url, '/done?x=1');
    assert.equal(request.headers['content-type'], 'application/json');
    assert.equal(request.headers['x-service-event'], 'task.completed');
    const given = String(request.headers['x-service-signature']);
    assert.match(given, /^sha256=[0-9a-f]{64}$/);
    assert.ok(await verify(SECRET, request.body.toString(), given), 'an independent library agrees');
    assert.ok(!(await verify(`${SECRET}x`, request.body.toString(), given)));
    const body = JSON.parse(request.body.toString());
    assert.deepEqual(Object.keys(body), [
      'execution_id',
      'status',
      'duration_ms',
      'started_at',
      'completed_at',
      'output',
      'errors',
    ]);
    assert.equal(body.execution_id, id);
    assert.equal(body.status, 'completed');
    assert.equal((await settled(id)).callback_status, 'delivered');
    assert.equal(stateOnArrival, 'completed');
    await receiver.staysQuiet(1_500);
    const attempts = await runs.attempts(id);
    assert.deepEqual(
      attempts.map((entry) => [entry.attempt, entry.response_status, entry.failure, entry.request_body]),
      [[1, 204, null, request.body.toString()]],
    );
    assert.ok(!JSON.stringify(attempts).includes(SECRET));
  });

  for (const [status, rehearsal] of [
    ['failed', { unrecoverable: { step: 1 } }],
    ['escalated', { escalate: { step: 1, reason: 'why?' } }],
  ] as const) {
    it(`is sent for ${status}`, async () => {
      const id = await submit(rehearsal);
      const [request] = await receiver.receives(1);
      assert.equal(request?.headers['x-service-event'], `task.${status}`);
      assert.equal(JSON.parse(request?.body.toString() ?? '').status, status);
      await settled(id);
    });
  }

  it('is not sent for a cancelled run', async () => {
    const id = await submit({ step_ms: 5_000 });
    await runs.reaches(id, 'executing');
    await runs.control.cancel(id, { by: 'test' });
    await runs.reaches(id, 'cancelled');
    await receiver.staysQuiet(1_000);
    assert.deepEqual(await runs.attempts(id), []);
  });

  it('goes through at a later attempt, with the same bytes, signature and delivery id', async () => {
    let count = 0;
    receiver.answering(() => (++count < 2 ? 503 : 200));
    const id = await submit();
    const [first, second] = await receiver.receives(2);
    assert.ok(first && second);
    assert.deepEqual(second.body, first.body);
    for (const header of ['x-service-signature', 'x-service-delivery', 'x-service-timestamp']) {
      assert.equal(second.headers[header], first.headers[header]);
    }
    assert.equal((await settled(id)).callback_status, 'delivered');
    const events = await runs.events(id);
    assert.deepEqual(
      events.slice(-2).map((event) => [event.type, event.data['response_status']]),
      [
        ['callback.attempted', 503],
        ['callback.attempted', 200],
      ],
    );
  });

  /** The activities over a task queue in a run's history. */
  async function queuedActivities(id: string): Promise<(string | null | undefined)[]> {
    const { events = [] } = await runs.client.workflow.getHandle(id).fetchHistory();
    return (events ?? []).flatMap(
      ({ activityTaskScheduledEventAttributes: asked }) => asked?.activityType?.name ?? [],
    );
  }

  it('needs no activity over a task queue where the receiver takes it at once', async () => {
    const queued: unknown[][] = [];
    // On a machine that is busy with other things half a second may be over before anything is sent.
    for (let time = 0; time < 10 && !queued.some((names) => names.length === 0); time += 1) {
      const id = await submit();
      await settled(id);
      await runs.client.workflow.getHandle(id).result();
      assert.equal((await runs.attempts(id)).length, 1);
      queued.push(await queuedActivities(id));
    }
    assert.deepEqual(queued.at(-1), []);
  });

  it('goes on in its own queue where the receiver takes longer, as the same attempt', async () => {
    receiver.answering((_request, response) => {
      setTimeout(() => response.writeHead(202).end(), 1_500);
      return undefined;
    });
    const id = await submit();
    await receiver.receives(1);
    assert.equal((await settled(id)).callback_status, 'delivered');
    await runs.client.workflow.getHandle(id).result();
    assert.deepEqual(await queuedActivities(id), ['sendCallback']);
    const attempts = await runs.attempts(id);
    assert.deepEqual(
      attempts.map((entry) => [entry.attempt, entry.response_status]),
      [[1, 202]],
    );
    assert.equal(receiver.requests.length, 1);
  });

  it('is broken off with its process, and sent again by the next one', async () => {
    receiver.hanging();
    const id = await submit();
    await receiver.receives(1);
    await runs.restartWorker();
    receiver.answering(204);
    assert.equal((await settled(id)).callback_status, 'delivered');
    assert.deepEqual(
      (await runs.attempts(id)).map(({ attempt, failure }) => [attempt, failure]),
      [
        [1, 'aborted'],
        [2, null],
      ],
    );
  });

  it('to one who takes it at once is not held up by many that hang', async () => {
    const hanging = await startReceiver({ tls: services().tls, name: 'localhost' });
    try {
      hanging.hanging();
      const many = Array.from({ length: 60 }, () =>
        runs.submit({ rehearsal: { steps: 1 }, callbackUrl: hanging.url, secret: SECRET }),
      );
      await Promise.all(many);
      await hanging.receives(20);
      const begun = performance.now();
      await submit();
      await receiver.receives(1);
      assert.ok(performance.now() - begun < 5_000);
      // Those beyond the places of first attempts begin in their queue.
      await hanging.receives(60);
    } finally {
      await hanging.close();
    }
  });

  describe('to a receiver that', () => {
    /** Three attempts, 1 s and 4 s after the failures, all recorded with the failure's kind, then silence. */
    async function expectThreeFailures(id: string, failure: string): Promise<void> {
      const row = await settled(id);
      const attempts = await runs.attempts(id);
      assert.deepEqual(
        attempts.map((entry) => [entry.attempt, entry.failure]),
        [1, 2, 3].map((attempt) => [attempt, failure]),
      );
      const [one, two, three] = attempts;
      assert.ok(one?.completed_at && two?.completed_at && three);
      const gaps = [
        two.attempted_at.getTime() - one.completed_at.getTime(),
        three.attempted_at.getTime() - two.completed_at.getTime(),
      ] as const;
      assert.ok(gaps[0] >= 990 && gaps[0] < 2_000, `first gap ${gaps[0]} ms`);
      assert.ok(gaps[1] >= 3_990 && gaps[1] < 5_500, `second gap ${gaps[1]} ms`);
      assert.equal(three.next_attempt_at, null);
      assert.equal(row.callback_status, 'failed');
      assert.equal(row.state, 'completed');
      const seen = receiver.requests.length;
      await receiver.staysQuiet(2_000);
      assert.ok(seen <= 3);
      assert.equal((await runs.attempts(id)).length, 3);
    }

    const BAD: [string, string, () => unknown][] = [
      ['answers 500', 'status', () => receiver.answering(500)],
      ['closes early', 'connection_closed', () => receiver.closingEarly()],
      ['redirects', 'redirect', () => receiver.redirecting('https://localhost/elsewhere')],
    ];
    for (const [what, failure, behave] of BAD) {
      it(what, async () => {
        behave();
        await expectThreeFailures(await submit(), failure);
      });
    }

    it('hangs, and one that drips: the whole attempt takes 10 s', async () => {
      const dripping = await startReceiver({ tls: services().tls, name: 'localhost' });
      try {
        receiver.hanging();
        dripping.dripping();
        const hung = await submit();
        const dripped = await runs.submit({
          rehearsal: { steps: 1 },
          callbackUrl: dripping.url,
          secret: SECRET,
        });
        await Promise.all([expectThreeFailures(hung, 'timeout'), expectThreeFailures(dripped, 'timeout')]);
        for (const attempt of await runs.attempts(hung)) {
          assert.ok((attempt.duration_ms ?? 0) >= 9_900 && (attempt.duration_ms ?? 0) < 11_500);
        }
      } finally {
        await dripping.close();
      }
    });

    it('has a certificate of nobody', async () => {
      await receiver.close();
      receiver = await startReceiver({ tls: await selfSigned({ names: ['localhost'] }), name: 'localhost' });
      await expectThreeFailures(await submit(), 'tls_failed');
    });
  });
});
