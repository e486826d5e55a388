import { z } from 'zod';
import { AGENT_MODEL_CALLS, MAX_MODEL_CALLS, MAX_STEPS, MODEL_CALL_TIME_LIMIT_MS } from '../domain/limits.ts';
import type { AgentLimits, Price } from '../domain/agent-work.ts';
import { duration } from './durations.ts';

/** The providers a model may be at; the part of its name before the first slash. */
export const PROVIDERS = ['openai', 'anthropic', 'openai-compatible'] as const;
export type ProviderName = (typeof PROVIDERS)[number];

/** `provider/model`, for example `openai/gpt-5.2` or `openai-compatible/org/model`. */
export const modelName = z
  .string()
  .max(200)
  .regex(
    new RegExp(`^(${PROVIDERS.join('|')})/[^\\s]+$`),
    `must be provider/model, the provider one of ${PROVIDERS.join(', ')}`,
  );

const limitsSchema = z.strictObject({
  model_calls: z.int().min(1).max(MAX_MODEL_CALLS).optional(),
  tokens: z.int().min(1).optional(),
  cost_usd: z.number().positive().optional(),
  on_limit: z.enum(['fail', 'escalate']).optional(),
  call_time: duration.optional(),
});

/** What `agents.<name>` may hold. */
export const agentSchema = z.strictObject({
  instructions: z.string().min(1),
  model: modelName.optional(),
  tools: z.array(z.string().min(1)).max(100).optional(),
  limits: limitsSchema.optional(),
});

/** `prices`: US dollars for a million tokens, by model. */
export const pricesSchema = z.record(
  modelName,
  z.strictObject({ input: z.number().min(0), output: z.number().min(0) }),
);

/** `planner`: who shapes the steps of a run within its team. */
export const plannerSchema = z.strictObject({
  model: modelName.optional(),
  instructions: z.string().min(1).optional(),
  max_steps: z.int().min(1).max(MAX_STEPS).default(10),
});

/** An agent of the catalogue. `model` is its own or the installation's default; null: it has none. */
export type Agent = {
  name: string;
  instructions: string;
  model: string | null;
  /** What its model may call; null: our own tools. */
  tools: readonly string[] | null;
  limits: AgentLimits;
  /** The longest time of one model call, in milliseconds. */
  callTimeMs: number;
};

/** The agent that shapes plans; `model` as with other agents. */
export type Planner = { model: string | null; instructions: string | null; maxSteps: number };
export type Prices = Readonly<Record<string, Price>>;

/** An agent from its settings. */
export function agentOf(
  name: string,
  settings: z.infer<typeof agentSchema>,
  defaultModel: string | null,
): Agent {
  const { instructions, model, tools, limits = {} } = settings;
  return {
    name,
    instructions,
    model: model ?? defaultModel,
    tools: tools ?? null,
    limits: {
      model_calls: limits.model_calls ?? AGENT_MODEL_CALLS,
      tokens: limits.tokens ?? null,
      cost_usd: limits.cost_usd ?? null,
      on_limit: limits.on_limit ?? 'fail',
    },
    callTimeMs: limits.call_time ?? MODEL_CALL_TIME_LIMIT_MS,
  };
}
