import type { ModelMessage } from 'ai';
import type { StepBrief } from '../../activities/agents/steps.ts';
import { usageOfCall, type CallKey, type ToolDescription } from '../../domain/agents/agent-work.ts';
import type { ArtifactInfo } from '../../domain/tasks/artifact.ts';
import type { AgentWork } from '../../domain/tasks/step-work.ts';
import type { Usage } from '../../domain/tasks/run-schemas.ts';
import { addUsage } from '../../domain/tasks/task-run.ts';
import type { Approvals } from './approvals.ts';
import { Conversation } from './conversation.ts';
import type { CarriedTimer } from './work-timer.ts';

/** The brief of an agent and the tools it may call, read once for each attempt. */
export type AgentSetup = { brief: Omit<StepBrief, 'prompt'>; tools: ToolDescription[] };

/** State that the next execution of the same attempt continues with. */
export type Carried = {
  opened: AgentSetup;
  messages: ModelMessage[];
  usage: Usage | null;
  /** Number of the last call. */
  number: number;
  modelCalls: number;
  artifacts: ArtifactInfo[];
  pace: CarriedTimer;
};

/** An attempt of a step in progress. */
export class StepAttempt {
  readonly work: AgentWork;
  readonly opened: AgentSetup;
  readonly conversation: Conversation;
  readonly approvals: Approvals;
  usage: Usage | null;
  modelCalls: number;
  /** Documents that the agent saved, by name. */
  readonly #artifacts: Map<string, ArtifactInfo>;
  #number: number;

  constructor(
    work: AgentWork,
    approvals: Approvals,
    begun: Pick<Carried, 'opened' | 'messages'> & Partial<Omit<Carried, 'opened' | 'messages' | 'pace'>>,
  ) {
    this.work = work;
    this.approvals = approvals;
    this.opened = begun.opened;
    this.conversation = new Conversation(begun.messages);
    this.usage = begun.usage ?? null;
    this.modelCalls = begun.modelCalls ?? 0;
    this.#artifacts = new Map(begun.artifacts?.map((note) => [note.name, note]));
    this.#number = begun.number ?? 0;
  }

  /** Returns the key of the next call in the record. */
  nextCallKey(): CallKey {
    const { executionId, step, attempt } = this.work;
    this.#number += 1;
    return { executionId, stepId: step.id, attempt, number: this.#number };
  }

  recordArtifact(note: ArtifactInfo): void {
    this.#artifacts.set(note.name, note);
  }

  /** Returns the usage and the documents of the attempt so far. */
  totals(): { usage: Usage | null; artifacts: ArtifactInfo[] } {
    return { usage: this.usage, artifacts: [...this.#artifacts.values()] };
  }

  /** Adds the tokens of a model call. */
  count(tokens: { input: number; output: number }): void {
    this.usage = addUsage(this.usage, usageOfCall(tokens, this.opened.brief.price));
  }

  /** Returns the limit that the agent reached, as text; null if it may continue. */
  limitReached(): string | null {
    const { model_calls, tokens, cost_usd } = this.opened.brief.limits;
    const used = this.usage;
    if (this.modelCalls >= model_calls) return `${model_calls} model calls`;
    if (tokens !== null && used && used.input_tokens + used.output_tokens >= tokens)
      return `${tokens} tokens`;
    if (cost_usd !== null && (used?.cost_usd ?? 0) >= cost_usd) return `${cost_usd} US dollars`;
    return null;
  }

  carried(): Omit<Carried, 'pace'> {
    const { opened, modelCalls } = this;
    const messages = [...this.conversation.messages];
    return { opened, messages, ...this.totals(), number: this.#number, modelCalls };
  }
}
