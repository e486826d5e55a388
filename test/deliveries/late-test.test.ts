import assert from 'node:assert/strict';
import { pino } from 'pino';
import { testWebhook } from '../../src/api/webhooks/test.ts';
import type { Dependencies } from '../../src/api/dependencies.ts';
import { Problem } from '../../src/api/http/problem.ts';
import type { AttemptInput } from '../../src/temporal/delivery-messages.ts';
import { AttemptPending } from '../../src/temporal/delivery-control.ts';
import { useReceiver } from '../support/callback-receiver.ts';
import { useDeliveries } from '../support/deliveries.ts';
import { eventually } from '../support/eventually.ts';

describe('a test without a result in time', function () {
  const world = useDeliveries();
  const receiver = useReceiver('each test');

  it('does not report Temporal as unavailable, and shows a later result without a reason', async () => {
    const answer = Promise.withResolvers<void>();
    receiver.answering((_request, response) => {
      void answer.promise.then(() => response.writeHead(500).end());
      return undefined;
    });
    const webhookId = await world.webhook({ url: receiver.url });
    const deliveryControl = {
      async attemptAndWait(input: AttemptInput): Promise<void> {
        await world.control.attempt(input);
        await receiver.receives(1);
        throw new AttemptPending('the attempt has no result in time');
      },
    };
    const dependencies = {
      database: world.database,
      control: { ready: async () => {} },
      deliveryControl,
      clock: () => new Date(),
      log: pino({ level: 'silent' }),
    } as unknown as Dependencies;
    const plan = {
      workspaceId: world.installation.workspace_id,
      actor: 'test',
      id: webhookId,
      event: 'issue.created' as const,
      data: undefined,
      draft: undefined,
    };
    await assert.rejects(testWebhook(dependencies, plan), (error: unknown) => {
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
});
