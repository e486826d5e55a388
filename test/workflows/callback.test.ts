import assert from 'node:assert/strict';
import { verify } from '@octokit/webhooks-methods';
import { useCallbackReceiver, startCallbackReceiver } from '../support/callback-receiver.ts';
import { eventually } from '../support/eventually.ts';
import { useRuns } from '../support/runs.ts';
import { selfSigned } from '../support/certificates.ts';
import { startReceiver, type Receiver } from '../support/receiver.ts';
import { services } from '../support/services.ts';

const SECRET = 'a'.repeat(64);
/** A timer can fire a little early by the clock. */
const TIMER_MS = 5;

describe('the callback of a run', function () {
  const runs = useRuns();
  const receiver = useCallbackReceiver('each test');
  const BAD: [string, string, (bad: Receiver) => unknown][] = [
    ['returns 500', 'status', (bad) => bad.answering(500)],
    ['closes the connection early', 'connection_closed', (bad) => bad.closingEarly()],
    ['redirects', 'redirect', (bad) => bad.redirecting('https://localhost/elsewhere')],
    ['has an untrusted certificate', 'tls_failed', () => {}],
  ];
  const runOf = new Map<string, string>();
  const receivers: Receiver[] = [];
  before(async () => {
    const untrusted = await selfSigned({ names: ['localhost'] });
    // The runs of this table share their waits: each takes five seconds.
    for (const [what, failure, behave] of BAD) {
      const tls = failure === 'tls_failed' ? untrusted : services().tls;
      const bad = await startReceiver({ tls, name: 'localhost' });
      receivers.push(bad);
      behave(bad);
      const submission = { rehearsal: { steps: 1 }, callbackUrl: bad.url, secret: SECRET };
      runOf.set(what, await runs.submit(submission));
    }
  });
  after(() => Promise.all(receivers.map((bad) => bad.close())));

  const submit = (rehearsal = {}) =>
    runs.submit({
      rehearsal: { steps: 1, ...rehearsal },
      callbackUrl: `${receiver.url}/done?x=1`,
      secret: SECRET,
    });
  const settled = (id: string) =>
    runs.becomes('the callback is settled', id, ({ callback_status }) => callback_status !== 'pending');

  it('is one signed POST of the result after the state is stored', async () => {
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
    const signature = String(request.headers['x-service-signature']);
    assert.match(signature, /^sha256=[0-9a-f]{64}$/);
    assert.ok(
      await verify(SECRET, request.body.toString(), signature),
      'an independent library accepts the signature',
    );
    assert.ok(!(await verify(`${SECRET}x`, request.body.toString(), signature)));
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
    await runs.ends(id);
    assert.equal(receiver.requests.length, 1);
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
    it(`is sent for the state ${status}`, async () => {
      const id = await submit(rehearsal);
      const [request] = await receiver.receives(1);
      assert.equal(request?.headers['x-service-event'], `task.${status}`);
      assert.equal(JSON.parse(request?.body.toString() ?? '').status, status);
      await settled(id);
    });
  }

  it('is not sent for a cancelled run', async () => {
    const id = await submit({ step_ms: 60_000 });
    await runs.reaches(id, 'executing');
    await runs.control.cancel(id, { by: 'test' });
    await runs.reaches(id, 'cancelled');
    await runs.ends(id);
    assert.deepEqual([await runs.attempts(id), receiver.requests.length], [[], 0]);
  });

  it('succeeds at a later attempt with the same bytes, signature and delivery id', async () => {
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

  /** Returns the types of the activities that a run scheduled over a task queue. */
  async function queuedActivities(id: string): Promise<(string | null | undefined)[]> {
    const { events = [] } = await runs.client.workflow.getHandle(id).fetchHistory();
    return (events ?? []).flatMap(
      ({ activityTaskScheduledEventAttributes: scheduled }) => scheduled?.activityType?.name ?? [],
    );
  }

  it('continues as the same attempt in its queue if the receiver is slow', async () => {
    const queued = Promise.withResolvers<void>();
    receiver.answering((_request, response) => {
      void queued.promise.then(() => response.writeHead(202).end());
      return undefined;
    });
    const id = await submit();
    await receiver.receives(1);
    await eventually('the callback is queued', async () => (await queuedActivities(id)).length > 0);
    queued.resolve();
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

  it('is not delayed by other receivers that hang', async () => {
    const hanging = await startCallbackReceiver();
    try {
      hanging.hanging();
      const many = Array.from({ length: 60 }, () =>
        runs.submit({ rehearsal: { steps: 1 }, callbackUrl: hanging.url, secret: SECRET }),
      );
      await Promise.all(many);
      await hanging.receives(20);
      // Callbacks beyond the inline attempts start in their queue.
      await hanging.receives(60);
      const id = await submit();
      assert.equal((await settled(id)).callback_status, 'delivered');
    } finally {
      await hanging.close();
    }
  });

  describe('to a receiver that', () => {
    for (const [index, [what, failure]] of BAD.entries()) {
      it(`${what} is retried 1 s and 4 s after its failures, and then given up`, async () => {
        const id = runOf.get(what) ?? assert.fail(what);
        await runs.ends(id);
        const row = await settled(id);
        assert.deepEqual([row.callback_status, row.state], ['failed', 'completed']);
        const attempts = await runs.attempts(id);
        assert.deepEqual(
          attempts.map((entry) => [entry.attempt, entry.failure]),
          [1, 2, 3].map((attempt) => [attempt, failure]),
        );
        const waits = attempts.map(({ completed_at: ended, next_attempt_at: next }) =>
          ended && next ? next.getTime() - ended.getTime() : null,
        );
        assert.deepEqual(waits, [1_000, 4_000, null]);
        for (const [number, { attempted_at: begun }] of attempts.slice(1).entries()) {
          const due = attempts[number]?.next_attempt_at?.getTime() ?? Number.NaN;
          assert.ok(begun.getTime() >= due - TIMER_MS, `${due - begun.getTime()} ms too early`);
        }
        assert.equal(receivers[index]?.requests.length, failure === 'tls_failed' ? 0 : 3);
      });
    }
  });
});
