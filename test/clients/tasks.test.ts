import assert from 'node:assert/strict';
import { startCallbackReceiver } from '../support/callback-receiver.ts';
import { failCallback } from '../support/ended-run.ts';
import { useWorld } from '../support/world.ts';
import { plansOf, problemOf, useClient } from './installed-client.ts';

describe('the client package for tasks', function () {
  const world = useWorld();
  const { client, baton, connect } = useClient(world);
  const { plan, slow } = plansOf(world);
  const problem = problemOf(client);

  it('submits a task, waits for its end, and verifies its signed callback', async () => {
    const receiver = await startCallbackReceiver();
    try {
      const submitted = await baton.tasks.submit(plan({ callback_url: receiver.url }));
      const task = await baton.tasks.waitFor(submitted.execution_id, { until: 'settled' });
      assert.deepEqual([task.state, task.callback.status], ['completed', 'delivered']);
      const [request] = await receiver.receives(1);
      assert.ok(request);
      const { body, headers } = request;
      const callback = await client.verifyCallback(body, headers, submitted.callback_secret);
      assert.deepEqual(callback, JSON.parse(body.toString()));
      assert.deepEqual(callback.output, task.output);
      await assert.rejects(client.verifyCallback(body, headers, 'another'), client.SignatureError);
      const attempts = await baton.tasks.callbacks(submitted.execution_id);
      assert.deepEqual(
        attempts.map(({ response_status: status }) => status),
        [204],
      );
    } finally {
      await receiver.close();
    }
  });

  it('have a failed callback sent again', async () => {
    const receiver = await startCallbackReceiver();
    try {
      receiver.answering(500);
      const { execution_id: id } = await baton.tasks.submit(plan({ callback_url: receiver.url }));
      await failCallback(world.database, id);
      receiver.answering(204);
      assert.equal((await baton.tasks.retryCallback(id)).callback.status, 'pending');
      const task = await baton.tasks.waitFor(id, { until: 'settled' });
      assert.equal(task.callback.status, 'delivered');
      const attempts = await baton.tasks.callbacks(id);
      assert.deepEqual(
        attempts.map(({ attempt, trigger, response_status: status }) => [attempt, trigger, status]),
        [
          [1, 'automatic', 500],
          [2, 'manual', 204],
        ],
      );
      await assert.rejects(baton.tasks.retryCallback(id), problem('invalid_state', 409));
    } finally {
      await receiver.close();
    }
  });

  it('reruns an escalated task with an answer', async () => {
    const metadata = { rehearsal: { steps: 1, escalate: { step: 1, reason: 'Which currency?' } } };
    const { execution_id: id } = await baton.tasks.submit({ ...slow(), metadata });
    await baton.tasks.waitFor(id);
    const again = await baton.tasks.rerun(id, { answer: 'Euro' });
    assert.equal((await baton.tasks.waitFor(again.execution_id)).state, 'completed');
  });

  it('pauses, continues, cancels and reruns a task', async () => {
    const { execution_id: id } = await baton.tasks.submit(slow());
    await baton.tasks.waitFor(id, { until: 'executing' });
    assert.equal((await baton.tasks.pause(id, { reason: 'lunch' })).execution_id, id);
    await world.reaches(id, 'paused');
    assert.equal((await baton.tasks.continue(id)).execution_id, id);
    await world.reaches(id, 'executing');
    assert.equal((await baton.tasks.cancel(id)).execution_id, id);
    await world.reaches(id, 'cancelled');
    const again = await baton.tasks.rerun(id);
    assert.notEqual(again.execution_id, id);
    await baton.tasks.cancel(again.execution_id);
    await world.reaches(again.execution_id, 'cancelled');
    await assert.rejects(
      baton.tasks.rerun(again.execution_id, { fromStep: 'no such step' }),
      client.BatonProblem,
    );
    await baton.tasks.erase(id);
    await assert.rejects(baton.tasks.get(id), problem('not_found', 404));
  });

  it('lists the calls and artifacts of a task', async () => {
    const { execution_id: id } = await baton.tasks.submit(plan());
    await baton.tasks.waitFor(id);
    assert.deepEqual(await baton.tasks.calls(id).take(10), []);
    assert.deepEqual(await baton.tasks.artifacts(id), []);
    await assert.rejects(baton.tasks.download(id, 'a/b.txt'), problem('not_found', 404));
  });

  it('lists tasks page by page, and reads only the needed pages', async () => {
    const order = `order-${Date.now()}`;
    const ids: string[] = [];
    for (let number = 0; number < 5; number++) {
      ids.unshift((await baton.tasks.submit(plan({ metadata: { order } }))).execution_id);
    }
    let sent = 0;
    const counting: typeof fetch = (input, init) => {
      sent += 1;
      return fetch(input, init);
    };
    const list = connect({ fetch: counting }).tasks.list({ metadata: { order }, limit: 2 });
    assert.equal(sent, 0);
    assert.deepEqual(
      (await list.take(3)).map((task) => task.execution_id),
      ids.slice(0, 3),
    );
    assert.equal(sent, 2);
    const all: string[] = [];
    for await (const task of list) all.push(task.execution_id);
    assert.deepEqual(all, ids);
    const sizes: number[] = [];
    for await (const page of list.pages()) sizes.push(page.data.length);
    assert.deepEqual(sizes, [2, 2, 1]);
    assert.deepEqual(
      await baton.tasks.list({ metadata: { order }, state: ['failed', 'escalated'] }).take(9),
      [],
    );
    assert.deepEqual(await list.take(0), []);
  });

  it('reports all errors of a rejected request', async () => {
    const wrong = { ...plan({ title: '', callback_url: 'http://x' }) };
    await assert.rejects(baton.tasks.submit(wrong), (error: unknown) => {
      assert.ok(problem('validation_failed', 422)(error));
      const { errors } = error as InstanceType<typeof client.BatonProblem>;
      assert.deepEqual(errors.map(({ pointer }) => pointer).toSorted(), ['/callback_url', '/title']);
      return true;
    });
    await assert.rejects(
      connect({ apiKey: 'bt_wrong' }).tasks.list().take(1),
      problem('unauthenticated', 401),
    );
    const { execution_id: id } = await baton.tasks.submit(plan());
    await baton.tasks.waitFor(id);
    await assert.rejects(baton.tasks.pause(id), problem('invalid_state', 409));
  });

  it('submits a task once with a given idempotency key', async () => {
    const options = { idempotencyKey: `key-${Date.now()}` };
    const first = await baton.tasks.submit(plan(), options);
    assert.deepEqual(await baton.tasks.submit(plan(), options), first);
    await assert.rejects(
      baton.tasks.submit(plan({ title: 'Other' }), options),
      problem('idempotency_key_reused', 422),
    );
  });

  it('waits no longer than the timeout', async () => {
    const { execution_id: id } = await baton.tasks.submit(slow());
    await assert.rejects(baton.tasks.waitFor(id, { timeoutMs: 300 }), client.BatonTimeout);
    await baton.tasks.cancel(id);
    await assert.rejects(baton.tasks.waitFor(id, { until: 'completed' }), client.BatonTimeout);
    const by = await baton.tasks.waitFor(id, { until: (task) => task.steps.length >= 0 });
    assert.equal(by.state, 'cancelled');
  });

  it('requires a URL, and either a key or a token', () => {
    for (const wrong of [{}, { apiKey: 'k', token: 't' }]) {
      assert.throws(() => client.createBaton({ baseUrl: 'https://b.example', ...wrong }), TypeError);
    }
    for (const baseUrl of ['', 'baton.example.com', 'ftp://b.example']) {
      assert.throws(() => client.createBaton({ baseUrl, apiKey: 'k' }), TypeError);
    }
  });
});
