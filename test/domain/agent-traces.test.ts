import assert from 'node:assert/strict';
import { UNTRACED_AGENTS } from '../../src/domain/agents/agent-traces.ts';

describe('the traces of agents without tracing', () => {
  it('do the work, and give requests no parent', async () => {
    const operation = { name: 'chat' } as unknown as Parameters<typeof UNTRACED_AGENTS.run>[0];
    const result = await UNTRACED_AGENTS.run(operation, async (report) => {
      report({});
      return 7;
    });
    assert.equal(result, 7);
    assert.equal(UNTRACED_AGENTS.traceparent(), null);
  });
});
