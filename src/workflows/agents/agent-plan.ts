import { ActivityFailure, isCancellation, proxyActivities } from '@temporalio/workflow';
import { generateText, jsonSchema, NoObjectGeneratedError, Output, type ModelMessage } from 'ai';
import type { PlanBrief, PlanningActivities, PlanningInput } from '../../activities/agents/planning.ts';
import { PLANNING_TIME_LIMIT_MS } from '../../domain/common/limits.ts';
import { CALL_CONTEXT_OPTION, type ModelCallContext } from '../../domain/agents/agent-work.ts';
import type { AgentPlanOutcome } from '../../temporal/agent-messages.ts';
import { modelFor, outcomeOf } from './ask-model.ts';
import { WorkTimer } from './work-timer.ts';

const { openPlanning, checkDraft } = proxyActivities<PlanningActivities>({
  startToCloseTimeout: '10 s',
  retry: { initialInterval: '200 ms', maximumInterval: '5 s' },
});

/** The model gets one more try for a plan that cannot be executed, with a list of the faults. */
const MAX_TRIES = 2;

/** A draft as JSON, or what is wrong with the response. `text` is the text of the model. */
type DraftResult = { draft: unknown; text: string } | { fault: string; text: string };

/** Lets a model write the steps of a run, within the team of the task type. */
export async function agentPlan(planningInput: PlanningInput): Promise<AgentPlanOutcome> {
  const timer = new WorkTimer(planningInput.executionId, null);
  const brief = await openPlanning(planningInput);
  if (brief === null) return { unusable: ['no planner is configured'] };
  try {
    const outcome = await timer.runWithin(PLANNING_TIME_LIMIT_MS, () => plan(planningInput, brief, timer));
    return outcome === 'late'
      ? { unusable: [`planning took longer than ${PLANNING_TIME_LIMIT_MS} ms`] }
      : outcome;
  } catch (error) {
    if (isCancellation(error) || !(error instanceof ActivityFailure)) throw error;
    const ended = outcomeOf(error);
    if (ended.kind === 'unrecoverable') return { error: ended.message };
    return { unusable: [ended.kind === 'failed' ? ended.message : 'no answer'] };
  }
}

async function plan(
  planningInput: PlanningInput,
  brief: PlanBrief,
  timer: WorkTimer,
): Promise<AgentPlanOutcome> {
  const messages: ModelMessage[] = [{ role: 'user', content: brief.prompt }];
  for (let number = 1; ; number += 1) {
    await timer.unpaused();
    const drafted = await askForDraft(planningInput, brief, messages, number);
    const checked =
      'fault' in drafted ? { faults: [drafted.fault] } : await checkDraft(planningInput, drafted.draft);
    if ('plan' in checked) return checked;
    if (number === MAX_TRIES) return { unusable: checked.faults };
    messages.push(
      { role: 'assistant', content: drafted.text || '(nothing)' },
      {
        role: 'user',
        content: `This plan cannot be executed:\n- ${checked.faults.join('\n- ')}\nWrite a new plan.`,
      },
    );
  }
}

/** @throws ActivityFailure if the model could not be called */
async function askForDraft(
  { executionId }: PlanningInput,
  brief: PlanBrief,
  messages: ModelMessage[],
  number: number,
): Promise<DraftResult> {
  // Planning belongs to no step. It is recorded under the id of the run.
  const callContext: ModelCallContext = {
    place: { executionId, stepId: executionId, attempt: 1, number },
    step: { name: 'planning', agent: 'planner' },
    callTimeMs: brief.callTimeMs,
    isTold: false,
  };
  try {
    const { output, text } = await generateText({
      model: modelFor(brief.model, `planning · model call ${number}`),
      instructions: brief.instructions,
      messages: [...messages],
      output: Output.object({ schema: jsonSchema(brief.schema), name: 'plan' }),
      maxRetries: 0,
      providerOptions: { [CALL_CONTEXT_OPTION]: callContext },
    });
    return { draft: output, text };
  } catch (error) {
    if (!NoObjectGeneratedError.isInstance(error)) throw error;
    return { fault: 'the answer is not JSON that matches the schema', text: error.text ?? '' };
  }
}
