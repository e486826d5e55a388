import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { Client, Connection } from '@temporalio/client';
import { services } from '../support/services.ts';
import { useWorld } from '../support/world.ts';

describe("a pause in Temporal's Web UI", () => {
  const world = useWorld();
  let connection: Connection;
  let client: Client;
  before(async () => {
    connection = await Connection.connect({ address: services().temporalAddress });
    client = new Client({ connection, namespace: services().namespace });
  });
  after(() => connection.close());

  /** Returns whether the run is paused in Temporal. */
  const isPaused = async (id: string) => {
    const { workflowExtendedInfo } = await client.workflowService.describeWorkflowExecution({
      namespace: services().namespace,
      execution: { workflowId: id },
    });
    return Boolean(workflowExtendedInfo?.pauseInfo);
  };
  const pausedInTheEngine = async () => {
    const { json } = await world.submit({ metadata: { rehearsal: { steps: 1, step_ms: 60_000 } } });
    const id = json.execution_id as string;
    await world.reaches(id, 'executing');
    await client.workflowService.pauseWorkflowExecution({
      namespace: services().namespace,
      workflowId: id,
      identity: 'operator',
      reason: 'a look',
      requestId: randomUUID(),
    });
    await world.reaches(id, 'paused');
    assert.equal(await isPaused(id), true);
    return id;
  };

  it('is visible in the API, and ended by continue', async () => {
    const id = await pausedInTheEngine();
    const { status } = await world.send('POST', `/api/v1/tasks/${id}/continue`);
    assert.equal(status, 202);
    await world.reaches(id, 'executing');
    assert.equal(await isPaused(id), false);
  });

  it('does not prevent a cancel', async () => {
    const id = await pausedInTheEngine();
    const { status } = await world.send('POST', `/api/v1/tasks/${id}/cancel`);
    assert.equal(status, 202);
    await world.reaches(id, 'cancelled');
  });

  it('is ended together with a pause through the API by one continue', async () => {
    const id = await pausedInTheEngine();
    const { status, json } = await world.send('POST', `/api/v1/tasks/${id}/pause`);
    assert.equal(status, 202);
    assert.equal(json.state, 'paused');
    await world.send('POST', `/api/v1/tasks/${id}/continue`);
    await world.reaches(id, 'executing');
    assert.equal(await isPaused(id), false);
  });
});
