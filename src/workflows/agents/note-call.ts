import { proxyActivities } from '@temporalio/workflow';
import type { OwnCall, StepActivities } from '../../activities/agents/steps.ts';
import type { CallPlace, ToolAnswer } from '../../domain/agents/agent-work.ts';
import type { Session } from './session.ts';

const { noteOwnCall } = proxyActivities<StepActivities>({
  startToCloseTimeout: '10 s',
  retry: { initialInterval: '200 ms', maximumInterval: '5 s' },
});

/** Writes the record of a call that the workflow has answered by itself; `progress` is told in the run's feed. */
export async function noteCall(
  { work: { step } }: Session,
  { name, input }: { name: string; input: unknown },
  place: CallPlace,
  { text, is_error }: Pick<ToolAnswer, 'text' | 'is_error'>,
  progress: OwnCall['progress'] | null = null,
): Promise<void> {
  const by = { name: step.name, agent: step.agent };
  const call = { place, step: by, name: name.slice(0, 200), input, answer: { text, is_error } };
  await noteOwnCall(progress ? { ...call, progress } : call);
}
