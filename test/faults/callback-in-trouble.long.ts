import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import { SHORT } from './mixed-tasks.ts';
import { assertAllDelivered, assertDelivered, submitOne, untilSettled } from './service-runs.ts';
import { useService } from './shared-service.ts';

/** Longer than all attempts of a callback, including their waits of 1 s and 4 s. */
const LONGER_THAN_THE_SCHEDULE_MS = 9_000;

describe('a callback', function () {
  this.timeout(240_000);
  const { service, receiver } = useService();

  /** Returns the failures of a task's attempts so far, oldest first. */
  async function failuresOf(id: string): Promise<(string | null)[]> {
    const { json } = await service.send('GET', `/api/v1/tasks/${id}/callbacks`);
    return json.data.map(({ failure }: { failure: string | null }) => failure);
  }

  it('is sent again if its sender is killed during the first attempt', async () => {
    receiver.hanging();
    const task = await submitOne(service, receiver, SHORT);
    await receiver.receives(1);
    await Promise.all([service.api.kill(), service.worker.kill()]);
    receiver.answering(204);
    await Promise.all([service.api.start(), service.worker.start()]);
    await untilSettled(service, [task]);
    await assertDelivered(service, receiver, task);
    assert.deepEqual(await failuresOf(task.id), ['interrupted', null]);
  });

  it('is sent again if its sender is killed during a later attempt', async () => {
    let count = 0;
    receiver.answering(() => (++count === 1 ? 503 : undefined));
    const task = await submitOne(service, receiver, SHORT);
    await receiver.receives(2);
    await service.worker.kill();
    receiver.answering(204);
    await service.worker.start();
    await untilSettled(service, [task]);
    await assertDelivered(service, receiver, task);
    assert.deepEqual(await failuresOf(task.id), ['status', 'interrupted', null]);
  });

  it('is delivered after PostgreSQL was down for longer than all attempts take', async () => {
    // The receiver responds after PostgreSQL was killed, so the result cannot be recorded.
    let answer: () => void = () => {};
    receiver.answering((_request, response) => {
      answer = () => response.writeHead(204).end();
      return undefined;
    });
    const task = await submitOne(service, receiver, SHORT);
    await receiver.receives(1);
    await service.postgres.kill();
    receiver.answering(204);
    answer();
    await wait(LONGER_THAN_THE_SCHEDULE_MS);
    await service.postgres.start();
    await untilSettled(service, [task]);
    await assertAllDelivered(service, receiver, [task]);
  });
});
