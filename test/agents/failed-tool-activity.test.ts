import assert from 'node:assert/strict';
import { randomUUIDv7 } from 'node:crypto';
import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';
import { ApplicationFailure } from '@temporalio/common';
import { Runtime, Worker } from '@temporalio/worker';
import { UNKNOWN_EFFECT } from '../../src/domain/agents/agent-work.ts';
import type { AgentWork, StepOutcome } from '../../src/domain/tasks/step-work.ts';
import { agentsBundle } from '../../src/runtime/bundle.ts';
import { AGENT_STEP_WORKFLOW } from '../../src/temporal/agent-messages.ts';
import { useTimeSkipping } from '../support/time-skipping.ts';
import { workOn } from './work-on-step.ts';

describe('an agent whose call of a tool failed in the service', function () {
  const environment = useTimeSkipping();

  it('is told that the outcome is unknown, and not why', async () => {
    const taskQueue = `agent-${randomUUIDv7()}`;
    const prompts: string[] = [];
    const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
    const add = { server: 'db', tool: 'add', description: 'Adds.', input_schema: { type: 'object' } };
    const call = { type: 'tool-call', toolCallId: 'a', toolName: 'db__add', input: '{}' };
    const brief = {
      model: 'test/test',
      instructions: 'Work.',
      prompt: 'Now.',
      limits: { model_calls: 10, tokens: null, cost_usd: null, on_limit: 'fail' },
      callTimeMs: 60_000,
      price: null,
      ownTools: [],
      hasServers: true,
      historyEvents: 4_000,
    };
    const worker = await Worker.create({
      connection: environment.nativeConnection,
      taskQueue,
      workflowBundle: await agentsBundle(Runtime.instance().logger),
      activities: {
        openStep: async () => ({ brief }),
        listTools: async () => [{ ...add, name: 'db__add' }],
        leaveResult: async (_work: AgentWork, text: string) => ({ summary: text, text }),
        readTimeHeld: async () => 0,
        async callTool() {
          throw ApplicationFailure.nonRetryable('connect ECONNREFUSED 10.0.0.5:5432');
        },
        async invokeModel({ options }: { options: LanguageModelV4CallOptions }) {
          prompts.push(JSON.stringify(options.prompt));
          const [content, unified] =
            prompts.length === 1 ? [call, 'tool-calls'] : [{ type: 'text', text: 'Done.' }, 'stop'];
          return { content: [content], finishReason: { unified }, usage, warnings: [] };
        },
      },
    });
    const work = workOn('run', 'ada');
    const outcome: StepOutcome = await worker.runUntil(
      environment.client.workflow.execute(AGENT_STEP_WORKFLOW, {
        workflowId: taskQueue,
        taskQueue,
        args: [{ work }],
      }),
    );
    assert.equal(outcome.kind, 'completed');
    assert.ok(prompts[1]?.includes(UNKNOWN_EFFECT));
    assert.ok(!prompts[1]?.includes('ECONNREFUSED'));
  });
});
