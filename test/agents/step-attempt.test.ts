import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { AgentWork } from '../../src/domain/tasks/step-work.ts';
import type { Approvals } from '../../src/workflows/agents/approvals.ts';
import { StepAttempt, type AgentSetup } from '../../src/workflows/agents/step-attempt.ts';

describe('an attempt of an agent that continues as a new execution', () => {
  const work = { executionId: randomUUID(), step: { id: randomUUID() }, attempt: 2 } as unknown as AgentWork;
  const limits = { model_calls: 2, tokens: 100, cost_usd: 1, on_limit: 'fail' };
  const opened = { brief: { limits, price: { input: 2, output: 8 } }, tools: [] } as unknown as AgentSetup;
  const approvals = {} as Approvals;

  it('keeps its conversation, usage, documents, and the numbers of its calls', () => {
    const first = new StepAttempt(work, approvals, {
      opened,
      messages: [{ role: 'user', content: 'Do it.' }],
    });
    first.modelCalls += 1;
    first.count({ input: 30, output: 20 });
    first.recordArtifact({ name: 'plan.md', media_type: 'text/markdown', size: 3 });
    assert.deepEqual([first.nextCallKey().number, first.nextCallKey().number], [1, 2]);
    first.conversation.add([{ role: 'assistant', content: 'I will.' }]);
    const next = new StepAttempt(work, approvals, first.carried());
    assert.deepEqual(next.carried(), first.carried());
    assert.deepEqual(next.totals(), first.totals());
    assert.deepEqual(next.totals().usage, {
      input_tokens: 30,
      output_tokens: 20,
      model_calls: 1,
      cost_usd: 0.00022,
    });
    assert.equal(next.nextCallKey().number, 3);
    assert.equal(next.limitReached(), null);
    next.count({ input: 50, output: 0 });
    assert.equal(next.limitReached(), '100 tokens');
    next.recordArtifact({ name: 'plan.md', media_type: 'text/markdown', size: 4 });
    assert.deepEqual(next.totals().artifacts, [{ name: 'plan.md', media_type: 'text/markdown', size: 4 }]);
    next.modelCalls += 1;
    assert.equal(next.limitReached(), '2 model calls');
  });
});
