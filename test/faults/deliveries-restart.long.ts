import assert from 'node:assert/strict';
import { deliveryWorkflowId } from '../../src/temporal/delivery-messages.ts';
import { eventually } from '../support/eventually.ts';
import { withTemporal } from '../support/service.ts';
import { eventOf } from './publishers.ts';
import { logOf, useEndpoints, type Logged } from './service-webhooks.ts';

/** The wait between the first failure and its retry (docs/webhooks.md). */
const FIRST_WAIT_MS = 60_000;
/** The delay of a workflow is a whole number of milliseconds, computed shortly before its start. */
const EARLIER_AT_MOST_MS = 100;

describe('a delivery that waits for its retry', function () {
  this.timeout(240_000);
  const { service, endpoints } = useEndpoints(1);

  it('keeps its schedule when Temporal is killed, and can be retried manually at once', async () => {
    const [endpoint] = endpoints;
    assert.ok(endpoint);
    const { receiver } = endpoint;
    receiver.answering(500);
    await service.send('POST', '/api/v1/events', { body: eventOf('retried') });
    const [first] = await receiver.receives(1);
    const before = await delivery(({ status }) => status === 'retrying');
    const dueAt = await dueTimeOf(before);
    const planned = Date.parse(before.next_attempt_at ?? '');
    assert.equal(planned, Date.parse(before.updated_at) + FIRST_WAIT_MS, 'the wait starts at the failure');
    assert.ok(dueAt >= planned - EARLIER_AT_MOST_MS, 'the timer matches the schedule');

    await service.temporal.kill();
    await service.temporal.start();
    assert.equal(await dueTimeOf(before), dueAt);
    assert.deepEqual(await delivery(() => true), before);

    receiver.answering(204);
    const retried = await eventually('the retry is accepted', async () => {
      const answered = await service.send('POST', `/api/v1/deliveries/${before.id}/retry`, { body: {} });
      return answered.status === 202 && answered;
    });
    assert.equal(retried.json.id, before.id);
    const [, second] = await receiver.receives(2);
    assert.equal(second?.headers['x-service-delivery'], before.id);
    assert.deepEqual(second?.body, first?.body);
    const after = await delivery(({ status }) => status === 'succeeded');
    assert.deepEqual(
      after.attempts.map(({ trigger, response_status }) => [trigger, response_status]),
      [
        ['automatic', 500],
        ['manual', 204],
      ],
    );
    await service.send('POST', '/api/v1/events', { body: eventOf('later') });
    const requests = await receiver.receives(3);
    const repeated = requests.filter(({ headers }) => headers['x-service-delivery'] === before.id);
    assert.deepEqual([repeated.length, requests.length], [2, 3]);
  });

  /** Returns the one delivery once `holds` is true for it. */
  async function delivery(holds: (row: Logged) => boolean): Promise<Logged> {
    return await eventually('the delivery is as expected', async () => {
      const [row] = await logOf(service, endpoints);
      return row !== undefined && holds(row) && row;
    });
  }

  /** Returns the start time of the running retry workflow. */
  async function dueTimeOf({ id, generation }: Logged): Promise<number> {
    const workflowId = deliveryWorkflowId({ deliveryId: id, generation });
    const described = await withTemporal(service, ({ workflow }) =>
      eventually('the retry workflow exists', () =>
        workflow
          .getHandle(workflowId)
          .describe()
          .catch(() => null),
      ),
    );
    assert.equal(described.status.name, 'RUNNING');
    return described.executionTime?.getTime() ?? Number.NaN;
  }
});
