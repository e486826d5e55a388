import { Context } from '@temporalio/activity';
import type { Agent } from '../../agents/agent-settings.ts';
import { truncate } from '../../domain/common/text.ts';
import type { Catalogue } from '../../agents/catalogue.ts';
import { cutText, cutValue } from '../../agents/cut.ts';
import { instructionsFor, promptFor } from '../../agents/prompt.ts';
import { recordCall } from '../../database/agents/agent-calls.ts';
import type { Database } from '../../database/database.ts';
import { readEnginePausedMs, recordChange } from '../../database/tasks/feed.ts';
import { storeStepResult, listStepResults, findTaskTexts } from '../../database/tasks/step-results.ts';
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
import { startHeartbeat } from '../heartbeat.ts';
import { waitUntilAllowed } from './wait-until-allowed.ts';

export type StepActivities = ReturnType<typeof createStepActivities>;

type Dependencies = { database: Database; catalogue: Catalogue; historyEvents: number; clock: () => Date };

/** Input of an agent, read once for each attempt of a step. */
export type StepBrief = {
  model: string;
  instructions: string;
  prompt: string;
  limits: AgentLimits;
  callTimeMs: number;
  price: Price | null;
  /** Built-in tools that it may call. */
  ownTools: OwnToolName[];
  /** Whether it may call tools of servers. */
  hasServers: boolean;
  historyEvents: number;
};

/** A call of a built-in tool, to be recorded. The workflow has answered it. */
export type OwnCall = {
  place: CallKey;
  step: { name: string; agent: string };
  name: string;
  input: unknown;
  answer: { text: string; is_error: boolean };
  /** Set if the call reports progress, which becomes an event in the feed. */
  progress?: { percent: number | null; text: string };
};

/** Creates the short activities of an agent. */
export function createStepActivities({ database, catalogue, historyEvents, clock }: Dependencies) {
  return {
    /** Reads the input of an agent for a step, or returns why it cannot work. */
    async openStep(work: AgentWork): Promise<{ brief: StepBrief } | { error: string }> {
      const agent = catalogue.agents.get(work.step.agent);
      const task = await findTaskTexts(database, work.executionId);
      if (!task) return { error: 'the task was erased' };
      if (!agent?.model) return { error: `agents.yml has no model for ${work.step.agent}` };
      const earlier = await listStepResults(database, work.executionId, work.earlier);
      return {
        brief: { ...briefOf({ ...agent, model: agent.model }), prompt: promptFor(work.step, task, earlier) },
      };
    },

    /** Stores the result of a step for later steps. Returns it as the run shows it. */
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

    /**
     * Waits while the run is paused in the Temporal Web UI. Returns the milliseconds that such pauses have taken since
     * `since` (milliseconds since 1970).
     */
    async readTimeHeld({ executionId, since }: { executionId: string; since: number }): Promise<number> {
      using _heartbeat = startHeartbeat();
      await waitUntilAllowed(database, executionId, Context.current().cancellationSignal);
      return await readEnginePausedMs(database, executionId, new Date(since));
    },

    /** Records a call that the workflow itself has answered, and writes progress to the feed. */
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

/** Returns the first paragraph of a result, cut to the length of a summary. */
function summaryOf(text: string): string {
  const [first = ''] = text.trim().split(/\n\s*\n/, 1);
  const line = first.replaceAll(/\s+/g, ' ');
  return line.length <= SUMMARY_LENGTH ? line : `${truncate(line, SUMMARY_LENGTH - 1)}…`;
}
