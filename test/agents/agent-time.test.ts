import assert from 'node:assert/strict';
import { randomUUIDv7 } from 'node:crypto';
import { Runtime, Worker } from '@temporalio/worker';
import type { AgentWork, StepOutcome } from '../../src/domain/tasks/step-work.ts';
import { AGENT_STEP_WORKFLOW } from '../../src/temporal/agent-messages.ts';
import { continueSignal, pauseSignal } from '../../src/temporal/task-messages.ts';
import { agentsBundle } from '../../src/runtime/bundle.ts';
import { useSkippedTime } from '../workflows/skipped-time.ts';

const MINUTE = 60_000;

/** The workflow of an agent alone, on a server whose clock jumps. */
describe('the time of an agent', function () {
  const environment = useSkippedTime();

  it('does not pass while its run is paused', async () => {
    const taskQueue = `agent-${randomUUIDv7()}`;
    const firstAsked = Promise.withResolvers<void>();
    const opened = Promise.withResolvers<void>();
    let asked = 0;
    const brief = {
      model: 'test/test',
      instructions: 'Work.',
      prompt: 'Now.',
      limits: { model_calls: 10, tokens: null, cost_usd: null, on_limit: 'fail' },
      callTimeMs: MINUTE,
      price: null,
      ownTools: ['report_progress'],
      hasServers: false,
      historyEvents: 4_000,
    };
    const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
    const worker = await Worker.create({
      connection: environment.nativeConnection,
      taskQueue,
      workflowBundle: await agentsBundle(Runtime.instance().logger),
      activities: {
        openStep: async () => ({ brief }),
        leaveResult: async (_work: AgentWork, text: string) => ({ summary: text, text }),
        noteOwnCall: async () => {},
        async invokeModel() {
          asked += 1;
          if (asked > 1) {
            const content = [{ type: 'text', text: 'Done.' }];
            return { content, finishReason: { unified: 'stop' }, usage, warnings: [] };
          }
          firstAsked.resolve();
          await opened.promise;
          const call = {
            type: 'tool-call',
            toolCallId: 'a',
            toolName: 'report_progress',
            input: '{"text":"x"}',
          };
          return { content: [call], finishReason: { unified: 'tool-calls' }, usage, warnings: [] };
        },
      },
    });
    const work: AgentWork = {
      executionId: 'run',
      number: 1,
      attempt: 1,
      earlier: [],
      step: {
        id: 'step',
        name: 'one',
        agent: 'ada',
        after: [],
        time_limit_ms: 30 * MINUTE,
        retry: {
          maximum_attempts: 1,
          initial_interval_ms: 1,
          backoff_coefficient: 1,
          maximum_interval_ms: 1,
        },
      },
    };
    const outcome = await worker.runUntil(async () => {
      const handle = await environment.client.workflow.start(AGENT_STEP_WORKFLOW, {
        workflowId: taskQueue,
        taskQueue,
        args: [{ work }],
      });
      await firstAsked.promise;
      await handle.signal(pauseSignal, { by: 'test' });
      opened.resolve();
      await environment.sleep(300 * MINUTE);
      assert.equal(asked, 1, 'no call is made meanwhile');
      await handle.signal(continueSignal, { by: 'test' });
      return (await handle.result()) as StepOutcome;
    });
    assert.deepEqual([outcome.kind, asked], ['completed', 2]);
  });
});
