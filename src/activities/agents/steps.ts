import type { Agent } from '../../agents/agent-settings.ts';
import type { Catalogue } from '../../agents/catalogue.ts';
import { cutText, cutValue } from '../../agents/cut.ts';
import { instructionsFor, promptFor } from '../../agents/prompt.ts';
import { recordCall } from '../../database/agents/agent-calls.ts';
import type { Database } from '../../database/database.ts';
import { recordChange } from '../../database/tasks/feed.ts';
import { storeStepResult, stepResults, taskTexts } from '../../database/tasks/step-results.ts';
import type { AgentLimits, CallKey, Price } from '../../domain/agents/agent-work.ts';
import {
  AGENT_MESSAGE_BYTES,
  CALL_RECORD_BYTES,
  OUTPUT_RESULT_BYTES,
  STEP_RESULT_BYTES,
  SUMMARY_LENGTH,
} from '../../domain/common/limits.ts';
import { ownToolsOf, type OwnToolName } from '../../domain/agents/own-tools.ts';
import type { AgentWork } from '../../domain/tasks/step-work.ts';

export type StepActivities = ReturnType<typeof createStepActivities>;

type Dependencies = { database: Database; catalogue: Catalogue; historyEvents: number; clock: () => Date };

/** What an agent needs for its work, put together once for each attempt of a step. */
export type StepBrief = {
  model: string;
  instructions: string;
  prompt: string;
  limits: AgentLimits;
  callTimeMs: number;
  price: Price | null;
  /** Our own tools that it may call. */
  ownTools: OwnToolName[];
  /** Whether it may call tools of servers. */
  hasServers: boolean;
  historyEvents: number;
};

/** A call of one of our own tools, for the record; the workflow has answered it. */
export type OwnCall = {
  place: CallKey;
  step: { name: string; agent: string };
  name: string;
  input: unknown;
  answer: { text: string; is_error: boolean };
  /** Given where the call is a report of progress: it is told in the run's feed. */
  progress?: { percent: number | null; text: string };
};

/** The short work beside the calls of an agent. */
export function createStepActivities({ database, catalogue, historyEvents, clock }: Dependencies) {
  return {
    /** Reads what an agent needs for a step; a sentence where it can't work. */
    async openStep(work: AgentWork): Promise<{ brief: StepBrief } | { error: string }> {
      const agent = catalogue.agents.get(work.step.agent);
      const task = await taskTexts(database, work.executionId);
      if (!task) return { error: 'the task was erased' };
      if (!agent?.model) return { error: `agents.yml has no model for ${work.step.agent}` };
      const earlier = await stepResults(database, work.executionId, work.earlier);
      const step = { name: work.step.name, planned: work.step.task ?? null };
      return {
        brief: { ...briefOf({ ...agent, model: agent.model }), prompt: promptFor(step, task, earlier) },
      };
    },

    /** Keeps what a step leaves to the ones after it; answers it as its run shows it. */
    async leaveResult(
      { executionId, step, attempt }: AgentWork,
      text: string,
    ): Promise<{ summary: string; text: string }> {
      const kept = {
        step: step.name,
        agent: step.agent,
        attempt,
        text: cutText(text, STEP_RESULT_BYTES).text,
      };
      await storeStepResult(database, executionId, kept);
      return { summary: summaryOf(text), text: cutText(text, OUTPUT_RESULT_BYTES).text };
    },

    /** Writes the record of a call that the workflow itself has answered, and tells of progress. */
    async noteOwnCall({ place, step, name, input, answer, progress }: OwnCall): Promise<void> {
      const cut = cutValue(input, CALL_RECORD_BYTES);
      const at = clock();
      await recordCall(database, {
        place,
        kind: 'tool',
        name,
        input: cut.value,
        output: answer,
        truncated: cut.truncated,
        usage: null,
        failure: answer.is_error ? answer.text : null,
        startedAt: at,
        duration_ms: 0,
      });
      if (!progress) return;
      const { executionId, stepId: id, attempt, number } = place;
      const entry = {
        key: `step.progress:${id}:${attempt}:${number}`,
        type: 'step.progress' as const,
        at: at.toISOString(),
        data: { step: { id, ...step, attempt }, ...progressData(progress) },
      };
      await recordChange(database, { executionId, view: null, entries: [entry] });
    },
  };

  function briefOf(agent: Agent & { model: string }): Omit<StepBrief, 'prompt'> {
    return {
      model: agent.model,
      instructions: instructionsFor(agent),
      limits: agent.limits,
      callTimeMs: agent.callTimeMs,
      price: catalogue.prices[agent.model] ?? null,
      ownTools: ownToolsOf(agent.tools),
      hasServers: agent.tools?.some((tool) => tool.includes('/')) ?? false,
      historyEvents,
    };
  }
}

function progressData({ percent, text }: NonNullable<OwnCall['progress']>) {
  return { ...(percent === null ? {} : { percent }), text: cutText(text, AGENT_MESSAGE_BYTES).text };
}

/** The first paragraph of a result, or as much of it as there is room for. */
function summaryOf(text: string): string {
  const [first = ''] = text.trim().split(/\n\s*\n/, 1);
  const line = first.replaceAll(/\s+/g, ' ').toWellFormed();
  return line.length <= SUMMARY_LENGTH ? line : `${line.slice(0, SUMMARY_LENGTH - 1).toWellFormed()}…`;
}
