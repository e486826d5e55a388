import assert from 'node:assert/strict';
import { mock } from 'node:test';
import { MockActivityEnvironment } from '@temporalio/testing';
import { startHeartbeat } from '../../src/activities/heartbeat.ts';

describe('the heartbeat of an activity', () => {
  beforeEach(() => mock.timers.enable({ apis: ['setInterval'] }));
  afterEach(() => mock.timers.reset());

  it('has the latest details, from the beginning to the end of the work', async () => {
    const environment = new MockActivityEnvironment();
    const sent: unknown[] = [];
    environment.on('heartbeat', (details: unknown) => sent.push(details));
    await environment.run(async () => {
      let task = 'none';
      {
        using _heartbeat = startHeartbeat(() => ({ task }));
        task = 'the first';
        mock.timers.tick(1_500);
        task = 'the second';
        mock.timers.tick(1_500);
      }
      mock.timers.tick(15_000);
    });
    assert.deepEqual(sent, [{ task: 'none' }, { task: 'the first' }, { task: 'the second' }]);
  });
});
