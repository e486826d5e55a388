import assert from 'node:assert/strict';
import { pino } from 'pino';
import { testWebhook } from '../../src/api/webhooks/test.ts';
import type { Dependencies } from '../../src/api/dependencies.ts';
import { Problem } from '../../src/api/http/problem.ts';
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
