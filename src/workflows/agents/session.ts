import type { ModelMessage } from 'ai';
import type { StepBrief } from '../../activities/agents/steps.ts';
import { usageOfCall, type CallPlace, type ToolDescription } from '../../domain/agents/agent-work.ts';
import type { ArtifactNote } from '../../domain/tasks/artifact.ts';
import type { AgentWork } from '../../domain/tasks/step-work.ts';
import { addUsage, type Usage } from '../../domain/tasks/task-run.ts';
import type { Approvals } from './approvals.ts';
import { Conversation } from './conversation.ts';

/** What an agent needs, found out once for an attempt: its brief, and the tools that it may call. */
export type Opened = { brief: Omit<StepBrief, 'prompt'>; tools: ToolDescription[] };

/** What goes over into the next execution of the same attempt. */
export type Carried = {
  opened: Opened;
  messages: ModelMessage[];
  usage: Usage | null;
  /** The last call's number. */
  number: number;
  modelCalls: number;
  artifacts: ArtifactNote[];
  pace: { workedMs: number; isPaused: boolean };
};

/** An attempt of a step while an agent works on it. */
export class Session {
  readonly work: AgentWork;
  readonly opened: Opened;
  readonly conversation: Conversation;
  readonly approvals: Approvals;
  usage: Usage | null;
  modelCalls: number;
  /** Documents that the agent has left behind, by name. */
  readonly #artifacts: Map<string, ArtifactNote>;
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

  /** The place of the next call in the record. */
  nextPlace(): CallPlace {
    const { executionId, step, attempt } = this.work;
    this.#number += 1;
    return { executionId, stepId: step.id, attempt, number: this.#number };
  }

  noteArtifact(note: ArtifactNote): void {
    this.#artifacts.set(note.name, note);
  }

  /** What the attempt took and has left behind so far. */
  account(): { usage: Usage | null; artifacts: ArtifactNote[] } {
    return { usage: this.usage, artifacts: [...this.#artifacts.values()] };
  }

  /** Counts what a model call took. */
  count(tokens: { input: number; output: number }): void {
    this.usage = addUsage(this.usage, usageOfCall(tokens, this.opened.brief.price));
  }

  /** The limit of the agent that is reached, in words; null where it may go on. */
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
    return { opened, messages, ...this.account(), number: this.#number, modelCalls };
  }
}
