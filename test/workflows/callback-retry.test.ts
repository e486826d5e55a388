import assert from 'node:assert/strict';
import { randomUUIDv7 } from 'node:crypto';
import { verify } from '@octokit/webhooks-methods';
import { beginAttempt, requestCallbackRetry } from '../../src/database/tasks/callbacks.ts';
import type { TaskRunRow } from '../../src/database/tasks/task-runs.ts';
import { useCallbackReceiver } from '../support/callback-receiver.ts';
import { failCallback } from '../support/ended-run.ts';
import { useRuns } from '../support/runs.ts';

const SECRET = 'a'.repeat(64);

describe('a failed callback that somebody has sent again', function () {
  const runs = useRuns();
  const receiver = useCallbackReceiver('each test');
  let id: string;
  beforeEach(async () => {
    receiver.answering(500);
    id = await runs.submit({
      rehearsal: { steps: 1 },
      callbackUrl: `${receiver.url}/done?x=1`,
      secret: SECRET,
    });
    await failCallback(runs.database, id);
  });

  /** Records the request only, as if its process died before it started the workflow. */
  async function request() {
    const retry = { executionId: id, retryId: randomUUIDv7() };
    const { workspace_id: workspaceId } = runs.installation;
    const requested = { ...retry, workspaceId, actor: 'key:test', now: new Date() };
    assert.ok(await requestCallbackRetry(runs.database, requested));
    return retry;
  }
  const retry = async () => {
    const requested = await request();
    await runs.control.retryCallback(requested);
    return requested;
  };
  const retryEnds = () =>
    runs.becomes('the retry has ended', id, ({ callback_retry_id: retryId }) => !retryId);
  const log = async () =>
    (await runs.attempts(id)).map(({ attempt, trigger, response_status }) => [
      attempt,
      trigger,
      response_status,
    ]);

  it('gets the same request as before in one attempt, which is marked as manual', async () => {
    receiver.answering(204);
    await retry();
    assert.equal((await retryEnds()).callback_status, 'delivered');
    const [first, second] = receiver.requests;
    assert.ok(first && second);
    assert.deepEqual([second.url, second.body], [first.url, first.body]);
    for (const header of ['signature', 'event', 'delivery', 'timestamp'])
      assert.equal(second.headers[`x-service-${header}`], first.headers[`x-service-${header}`]);
    const signature = String(second.headers['x-service-signature']);
    assert.ok(await verify(SECRET, second.body.toString(), signature));
    assert.deepEqual(await log(), [
      [1, 'automatic', 500],
      [2, 'manual', 204],
    ]);
    const last = (await runs.events(id)).at(-1);
    assert.deepEqual(
      [last?.type, last?.data['attempt'], last?.data['trigger'], last?.data['outcome']],
      ['callback.attempted', 2, 'manual', 'succeeded'],
    );
  });

  it('is as it was after a failure, and is not sent again by itself', async () => {
    const shown = ({ last_seq: _seq, view_seq: _view, ...row }: TaskRunRow) => row;
    const before = shown(await runs.row(id));
    const { retryId } = await retry();
    await runs.client.workflow.getHandle(`${id}:callback:${retryId}`).result();
    assert.deepEqual(shown(await runs.row(id)), before);
    await retry();
    await retryEnds();
    assert.deepEqual(await log(), [
      [1, 'automatic', 500],
      [2, 'manual', 500],
      [3, 'manual', 500],
    ]);
    assert.deepEqual(
      (await runs.attempts(id)).slice(1).map(({ next_attempt_at: next }) => next),
      [null, null],
    );
    assert.equal(receiver.requests.length, 3);
  });

  for (const [what, act] of [
    ['a workflow', retry],
    ['nothing but the request', request],
  ] as const) {
    it(`is sent once although no worker was there, and there was ${what}`, async () => {
      receiver.answering(204);
      await runs.restartWorker(act);
      assert.equal((await retryEnds()).callback_status, 'delivered');
      assert.deepEqual((await log()).slice(1), [[2, 'manual', 204]]);
      assert.equal(receiver.requests.length, 2);
    });
  }

  it('is sent although its workflow was terminated', async () => {
    receiver.answering(204);
    await runs.restartWorker(async () => {
      const { retryId } = await retry();
      await runs.client.workflow.getHandle(`${id}:callback:${retryId}`).terminate();
    });
    assert.equal((await retryEnds()).callback_status, 'delivered');
    assert.equal(receiver.requests.length, 2);
  });

  it('fails if its only attempt was interrupted, and can be sent again', async () => {
    receiver.answering(204);
    await runs.restartWorker(async () => {
      const { retryId } = await request();
      // As if the process had died during the attempt.
      const begun = {
        id: randomUUIDv7(),
        execution_id: id,
        url: receiver.url,
        request_headers: {},
        request_body: '',
        attempted_at: new Date(Date.now() - 60_000),
        retryId,
      };
      assert.equal(await beginAttempt(runs.database, begun, 1), 2);
    });
    assert.equal((await retryEnds()).callback_status, 'failed');
    assert.deepEqual((await log()).slice(1), [[2, 'manual', null]]);
    await retry();
    assert.equal((await retryEnds()).callback_status, 'delivered');
    assert.equal(receiver.requests.length, 2);
  });
});
