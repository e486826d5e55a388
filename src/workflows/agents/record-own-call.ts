import { proxyActivities } from '@temporalio/workflow';
import type { OwnCall, StepActivities } from '../../activities/agents/steps.ts';
import { truncate } from '../../domain/common/text.ts';
import type { CallKey, ToolAnswer } from '../../domain/agents/agent-work.ts';
import type { StepAttempt } from './step-attempt.ts';

const { noteOwnCall } = proxyActivities<StepActivities>({
  startToCloseTimeout: '10 s',
  retry: { initialInterval: '200 ms', maximumInterval: '5 s' },
});

/** Records a call that the workflow itself has answered. `progress` becomes an event in the feed of the run. */
export async function recordOwnCall(
  { work: { step } }: StepAttempt,
  { name, input }: { name: string; input: unknown },
  key: CallKey,
  { text, is_error }: Pick<ToolAnswer, 'text' | 'is_error'>,
  progress: OwnCall['progress'] | null = null,
): Promise<void> {
  const by = { name: step.name, agent: step.agent };
  const call = { place: key, step: by, name: truncate(name, 200), input, answer: { text, is_error } };
  await noteOwnCall(progress ? { ...call, progress } : call);
}
