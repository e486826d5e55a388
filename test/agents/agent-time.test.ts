import assert from 'node:assert/strict';
import { randomUUIDv7 } from 'node:crypto';
import type { WorkflowHandle } from '@temporalio/client';
import { Runtime, Worker } from '@temporalio/worker';
import type { AgentWork, StepOutcome } from '../../src/domain/tasks/step-work.ts';
import { AGENT_STEP_WORKFLOW } from '../../src/temporal/agent-messages.ts';
import { continueSignal, pauseSignal } from '../../src/temporal/task-messages.ts';
import { agentsBundle } from '../../src/runtime/bundle.ts';
import { useTimeSkipping } from '../support/time-skipping.ts';

const MINUTE = 60_000;

/**
 * Runs the workflow of an agent alone, on a server that skips time. The server stops skipping permanently if a workflow
 * ends while one of its activities runs, so agent-limits.test.ts shows that an agent times out.
 */
describe('the time limit of an agent', function () {
  const environment = useTimeSkipping();

  /**
   * Runs an agent whose first model call lasts until `open` is called. `timeHeld` returns how long Temporal has held the
   * run in pauses.
   */
  async function run(
    play: (agent: { handle: WorkflowHandle; open: () => void; asked: () => number }) => Promise<void>,
    {
      limitMs = 30 * MINUTE,
      timeHeld = async () => 0,
    }: { limitMs?: number; timeHeld?: () => Promise<number> } = {},
  ): Promise<{ outcome: StepOutcome; asked: number }> {
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
        readTimeHeld: timeHeld,
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
        time_limit_ms: limitMs,
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
      await play({ handle, open: opened.resolve, asked: () => asked });
      const ended = (await handle.result()) as StepOutcome;
      opened.resolve();
      return ended;
    });
    return { outcome, asked };
  }

  it('does not include pauses of the run', async () => {
    const { outcome, asked } = await run(async (agent) => {
      await agent.handle.signal(pauseSignal, { by: 'test' });
      agent.open();
      await environment.sleep(300 * MINUTE);
      assert.equal(agent.asked(), 1, 'no call is made during the pause');
      await agent.handle.signal(continueSignal, { by: 'test' });
    });
    assert.deepEqual([outcome.kind, asked], ['completed', 2]);
  });

  it('does not include pauses in Temporal, which the agent reads at the limit', async () => {
    const began = Promise.withResolvers<() => void>();
    const timeHeld = async () => {
      const open = await began.promise;
      open();
      return 10 * MINUTE;
    };
    const { outcome, asked } = await run(async ({ open }) => began.resolve(open), { limitMs: 500, timeHeld });
    assert.deepEqual([outcome.kind, asked], ['completed', 2]);
  });
});
