import type { BackendName } from '../domain/tasks/plan.ts';
import { z } from 'zod';
import {
  AGENT_MODEL_CALLS,
  MAX_ACTIVITY_TIME_LIMIT_MS,
  MAX_MODEL_CALLS,
  MAX_STEPS,
  MODEL_CALL_TIME_LIMIT_MS,
} from '../domain/common/limits.ts';
import type { AgentLimits, Price } from '../domain/agents/agent-work.ts';
import { duration } from './durations.ts';
import {
  a2aSchema,
  commandAgentOf,
  commandSchema,
  remoteAgentOf,
  type CommandAgent,
  type RemoteAgent,
} from './server-settings.ts';

/** Model providers: the part of a model's name before the first slash. */
export const PROVIDERS = ['openai', 'anthropic', 'openai-compatible'] as const;
export type ProviderName = (typeof PROVIDERS)[number];

/** `provider/model`, for example `openai/gpt-5.2` or `openai-compatible/org/model`. */
export const modelName = z
  .string()
  .max(200)
  .regex(
    new RegExp(`^(${PROVIDERS.join('|')})/[^\\s]+$`),
    `must be provider/model with one of the providers ${PROVIDERS.join(', ')}`,
  );

const limitsSchema = z.strictObject({
  model_calls: z.int().min(1).max(MAX_MODEL_CALLS).optional(),
  tokens: z.int().min(1).optional(),
  cost_usd: z.number().positive().optional(),
  on_limit: z.enum(['fail', 'escalate']).optional(),
  call_time: duration(1, MAX_ACTIVITY_TIME_LIMIT_MS).optional(),
});

/** Schema of `agents.<name>`. */
export const agentSchema = z
  .strictObject({
    instructions: z.string().min(1),
    model: modelName.optional(),
    tools: z.array(z.string().min(1)).max(100).optional(),
    limits: limitsSchema.optional(),
    a2a: a2aSchema.optional(),
    command: commandSchema.optional(),
  })
  .refine(({ model, a2a, command }) => [model, a2a, command].filter(Boolean).length <= 1, {
    error: 'must have at most one of model, a2a and command',
  })
  .refine(({ tools, a2a, command }) => tools === undefined || (!a2a && !command), {
    error: 'must not have tools: a remote agent or a command has its own',
  });

/** `prices`: US dollars per million tokens, by model. */
export const pricesSchema = z.record(
  modelName,
  z.strictObject({ input: z.number().min(0), output: z.number().min(0) }),
);

/** `planner`: the agent that writes the steps of a run within its team. */
export const plannerSchema = z.strictObject({
  model: modelName.optional(),
  instructions: z.string().min(1).optional(),
  max_steps: z.int().min(1).max(MAX_STEPS).default(10),
});

/** An agent of the catalogue. `model` is its own or the default of the installation; null: it has none. */
export type Agent = {
  name: string;
  instructions: string;
  model: string | null;
  /** Allow-list of tools; null: the built-in tools. */
  tools: readonly string[] | null;
  limits: AgentLimits;
  /** The longest time of one model call, in milliseconds. */
  callTimeMs: number;
  /** Set for an agent that speaks A2A. */
  a2a: RemoteAgent | null;
  /** Set for an agent that is a program. */
  command: CommandAgent | null;
};

/** The agent that writes plans; `model` as with other agents. */
export type Planner = { model: string | null; instructions: string | null; maxSteps: number };
export type Prices = Readonly<Record<string, Price>>;

/** Creates an agent from its settings. */
export function agentOf(
  name: string,
  settings: z.infer<typeof agentSchema>,
  defaultModel: string | null,
): Agent {
  const { instructions, model, tools, limits = {}, a2a, command } = settings;
  return {
    name,
    instructions,
    model: a2a || command ? null : (model ?? defaultModel),
    tools: tools ?? null,
    a2a: a2a ? remoteAgentOf(a2a) : null,
    command: command ? commandAgentOf(command) : null,
    limits: {
      model_calls: limits.model_calls ?? AGENT_MODEL_CALLS,
      tokens: limits.tokens ?? null,
      cost_usd: limits.cost_usd ?? null,
      on_limit: limits.on_limit ?? 'fail',
    },
    callTimeMs: limits.call_time ?? MODEL_CALL_TIME_LIMIT_MS,
  };
}

/** Returns the backend of an agent, and its model, URL or program; null for a simulated agent. */
export function backendOfAgent({ a2a, command, model }: Agent): { backend: BackendName; by: string | null } {
  if (a2a) return { backend: 'a2a', by: a2a.url };
  if (command) return { backend: 'command', by: [command.command, ...command.args].join(' ') };
  return model === null ? { backend: 'rehearsal', by: null } : { backend: 'model', by: model };
}
