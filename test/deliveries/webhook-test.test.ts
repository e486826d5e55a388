import assert from 'node:assert/strict';
import { pino } from 'pino';
import { draftTest, testWebhook } from '../../src/api/webhooks/test.ts';
import type { Dependencies } from '../../src/api/dependencies.ts';
import { Problem } from '../../src/api/http/problem.ts';
import {
  holdOrCancelWaiting,
  listWebhooksWithWaiting,
} from '../../src/database/webhooks/waiting-deliveries.ts';
import { createSealing } from '../../src/security/sealing.ts';
import { EngineUnavailable } from '../../src/temporal/task-control.ts';
import { attemptWorkflowId, type AttemptInput } from '../../src/temporal/delivery-messages.ts';
import { AttemptPending } from '../../src/temporal/delivery-control.ts';
import { useReceiver } from '../support/callback-receiver.ts';
import { useDeliveries } from '../support/deliveries.ts';
import { eventually } from '../support/eventually.ts';

describe('a test of a webhook', function () {
  const world = useDeliveries();
  const receiver = useReceiver('each test');

  const dependenciesWith = (attemptAndWait: (input: AttemptInput) => Promise<void>) =>
    ({
      database: world.database,
      control: { ready: async () => {} },
      deliveryControl: { attemptAndWait },
      clock: () => new Date(),
      log: pino({ level: 'silent' }),
    }) as unknown as Dependencies;
  const planOf = (webhookId: string) => ({
    workspaceId: world.installation.workspace_id,
    actor: 'test',
    id: webhookId,
    event: 'issue.created' as const,
    data: undefined,
    draft: undefined,
  });

  it('without a result in time does not report Temporal as unavailable, and shows a later result without a reason', async () => {
    const answer = Promise.withResolvers<void>();
    receiver.answering((_request, response) => {
      void answer.promise.then(() => response.writeHead(500).end());
      return undefined;
    });
    const webhookId = await world.webhook({ url: receiver.url });
    const dependencies = dependenciesWith(async (input) => {
      await world.control.attempt(input);
      await receiver.receives(1);
      throw new AttemptPending('the attempt has no result in time');
    });
    await assert.rejects(testWebhook(dependencies, planOf(webhookId)), (error: unknown) => {
      assert.ok(error instanceof Problem);
      assert.equal(error.code, 'unavailable');
      assert.match(error.message, /The test has no result yet/);
      return true;
    });
    answer.resolve();
    const [row] = await eventually('the result is recorded', async () => {
      const rows = await world.deliveries(webhookId);
      return rows[0]?.attempts_count === 1 && rows;
    });
    assert.deepEqual([row?.status, row?.reason], ['failed', null]);
  });

  it('is cancelled if Temporal does not accept it', async () => {
    const webhookId = await world.webhook({ url: receiver.url });
    const dependencies = dependenciesWith(() => Promise.reject(new EngineUnavailable('no connection')));
    await assert.rejects(testWebhook(dependencies, planOf(webhookId)), EngineUnavailable);
    const [row] = await world.deliveries(webhookId);
    assert.deepEqual([row?.status, row?.reason], ['cancelled', 'the test was not sent in time']);
  });

  it('has a second signature in its preview only while the previous secret is valid', async () => {
    const sealing = createSealing(world.configuration.sealingKeys);
    const dependencies = { ...dependenciesWith(() => assert.fail()), sealing };
    const previewed = async (previousSecretUntil: Date) => {
      const id = await world.webhook({
        url: receiver.url,
        secret: 'new',
        previousSecret: 'old',
        previousSecretUntil,
      });
      const { body } = await draftTest(dependencies, planOf(id));
      return Object.keys((body as { request: { headers: object } }).request.headers);
    };
    const name = 'x-service-signature-previous';
    assert.ok((await previewed(new Date(Date.now() + 60_000))).includes(name));
    assert.ok(!(await previewed(new Date(Date.now() - 1))).includes(name));
  });

  it('stays if its webhook is disabled before it is sent, and is cancelled if it is deleted', async () => {
    const webhookId = await world.webhook({ url: receiver.url });
    const stored = Promise.withResolvers<void>();
    const end = Promise.withResolvers<void>();
    const testing = testWebhook(
      dependenciesWith(async () => {
        stored.resolve();
        await end.promise;
      }),
      planOf(webhookId),
    );
    await stored.promise;
    const statusOf = async () => (await world.deliveries(webhookId))[0]?.status;
    const listed = async () => (await listWebhooksWithWaiting(world.database, 1_000)).includes(webhookId);
    await world.changeWebhook(webhookId, { disabled_at: new Date() });
    await holdOrCancelWaiting(world.database, webhookId);
    assert.deepEqual([await statusOf(), await listed()], ['pending', false]);
    await world.changeWebhook(webhookId, { deleted_at: new Date() });
    assert.ok(await listed());
    await holdOrCancelWaiting(world.database, webhookId);
    assert.equal(await statusOf(), 'cancelled');
    end.resolve();
    await assert.rejects(testing, /was deleted before the test was sent/);
  });

  it('is not sent again if its worker died after its failure was recorded', async () => {
    receiver.answering(500);
    const webhookId = await world.webhook({ url: receiver.url });
    const dependencies = dependenciesWith(async (input) => {
      for (const _ of ['made', 'repeated']) {
        await world.control.attemptOverdue(input);
        await world.client.workflow.getHandle(attemptWorkflowId(input.token)).result();
      }
    });
    await testWebhook(dependencies, planOf(webhookId));
    const [row] = await world.deliveries(webhookId);
    assert.deepEqual([row?.status, row?.attempts_count], ['failed', 1]);
    assert.equal(receiver.requests.length, 1);
  });
});
