import { proxyActivities } from '@temporalio/workflow';
import type { ArtifactActivities } from '../../activities/agents/artifacts.ts';
import type { CallKey, ToolAnswer } from '../../domain/agents/agent-work.ts';
import { recordOwnCall } from './record-own-call.ts';
import type { StepAttempt } from './step-attempt.ts';

const { saveArtifact } = proxyActivities<ArtifactActivities>({
  startToCloseTimeout: '30 s',
  retry: { initialInterval: '200 ms', maximumInterval: '5 s' },
});

/**
 * Stores a document of the agent. The record of the call contains only its length, since the document is stored
 * already.
 */
export async function saveArtifactTool(
  attempt: StepAttempt,
  input: unknown,
  key: CallKey,
): Promise<ToolAnswer> {
  const { step } = attempt.work;
  const options = { summary: `${step.name} · ${step.agent} · document` };
  const saved = await saveArtifact.executeWithOptions(options, [{ place: key, agent: step.agent, input }]);
  if (saved.artifact) attempt.recordArtifact(saved.artifact);
  await recordOwnCall(attempt, { name: 'save_artifact', input: withoutContent(input) }, key, saved.answer);
  return saved.answer;
}

function withoutContent(input: unknown): unknown {
  const { content, ...rest } = (input ?? {}) as Record<string, unknown>;
  return typeof content === 'string' ? { ...rest, content: `[${content.length} characters]` } : input;
}
