import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';
import {
  MAX_ACTIVITY_TIME_LIMIT_MS,
  MAX_DURATION_MS,
  MAX_STEPS,
  RUN_TIME_LIMIT_MS,
  STEP_TIME_LIMIT_MS,
} from '../domain/common/limits.ts';
import type { StepRetry } from '../domain/tasks/plan.ts';
import { TASK_TYPES, type TaskType } from '../domain/tasks/task-run.ts';
import {
  agentOf,
  agentSchema,
  plannerSchema,
  pricesSchema,
  type Agent,
  type Planner,
  type Prices,
} from './agent-settings.ts';
import { duration, formatDuration } from './durations.ts';
import { serverName, serverOf, serverSchema, type ToolServer } from './server-settings.ts';
import { allowListFaults } from './tool-policy.ts';

/** The limits of one step, in milliseconds. */
export type StepLimits = { timeLimitMs: number; retry: StepRetry };
export type TeamStep = { name: string; agent: string; after: string[]; limits: StepLimits };

/** The validated content of `agents.yml`: the agents, and the steps of the team for each task type. */
export type Catalogue = {
  agents: ReadonlyMap<string, Agent>;
  teams: Readonly<Record<TaskType, readonly TeamStep[]>>;
  runTimeLimitMs: number;
  prices: Prices;
  /** The MCP servers for tools of agents. */
  servers: ReadonlyMap<string, ToolServer>;
  /** Null: runs follow the teams' steps unchanged. */
  planner: Planner | null;
};

const name = z.string().regex(/^[a-z][a-z0-9-]{0,62}$/, 'must be lower-case letters, digits and dashes');

const timeLimit = duration(1, MAX_DURATION_MS);
// Zero: the next attempt starts at once.
const interval = duration(0, MAX_DURATION_MS);

const retrySchema = z.strictObject({
  maximum_attempts: z.int().min(1).max(100),
  initial_interval: interval,
  backoff_coefficient: z.number().min(1).max(10),
  maximum_interval: interval,
});

const stepSchema = z.strictObject({
  step: name,
  agent: name,
  after: z.array(name).optional(),
  time_limit: timeLimit.optional(),
  retry: retrySchema.optional(),
});

const catalogueSchema = z.strictObject({
  agents: z.record(name, agentSchema),
  defaults: z
    .strictObject({
      run_time_limit: timeLimit.optional(),
      step_time_limit: timeLimit.optional(),
      retry: retrySchema.optional(),
    })
    .default({}),
  teams: z.strictObject(
    Object.fromEntries(TASK_TYPES.map((type) => [type, z.array(stepSchema).min(1).max(MAX_STEPS)])) as Record<
      TaskType,
      z.ZodArray<typeof stepSchema>
    >,
  ),
  prices: pricesSchema.default({}),
  servers: z.record(serverName, serverSchema).default({}),
  planner: plannerSchema.optional(),
});

const DEFAULT_RETRY = {
  maximum_attempts: 3,
  initial_interval: 1_000,
  backoff_coefficient: 2,
  maximum_interval: 60_000,
};

/**
 * Reads the catalogue at `path`. `defaultModel` is the model of agents without their own.
 * @throws Error with one sentence for each fault
 */
export function loadCatalogue(path: string, defaultModel: string | null = null): Catalogue {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new Error(`cannot read the agent catalogue: ${(error as Error).message}`, { cause: error });
  }
  return parseCatalogue(text, path, defaultModel);
}

/** Parses the catalogue from text. Error messages contain `source`. */
export function parseCatalogue(text: string, source: string, defaultModel: string | null = null): Catalogue {
  const read = catalogueSchema.safeParse(parse(text));
  if (!read.success) {
    const faults = read.error.issues.map((issue) => {
      // The message for an invalid name is one level deeper.
      const message = issue.code === 'invalid_key' ? issue.issues[0]?.message : issue.message;
      return `${issue.path.join('.') || 'the file'}: ${message ?? issue.message}`;
    });
    throw new Error(`${source} is not a valid agent catalogue: ${faults.join('; ')}`);
  }
  const { agents, teams, defaults, prices, servers, planner } = read.data;
  const faults = [
    ...toolFaults(agents, new Set(Object.keys(servers))),
    ...TASK_TYPES.flatMap((type) => teamFaults(type, teams[type], agents)),
    ...TASK_TYPES.flatMap((type) => timeLimitFaults(type, teams[type], agents, defaults.step_time_limit)),
  ];
  if (faults.length > 0) throw new Error(`${source} is not a valid agent catalogue: ${faults.join('; ')}`);
  const stepLimits = (step: z.infer<typeof stepSchema>): StepLimits => ({
    timeLimitMs: step.time_limit ?? defaults.step_time_limit ?? STEP_TIME_LIMIT_MS,
    retry: retryOf(step.retry ?? defaults.retry ?? DEFAULT_RETRY),
  });
  const teamOf = (type: TaskType): TeamStep[] =>
    teams[type].map((step, index) => ({
      name: step.step,
      agent: step.agent,
      after: step.after ?? teams[type].slice(Math.max(0, index - 1), index).map((previous) => previous.step),
      limits: stepLimits(step),
    }));
  return {
    agents: new Map(Object.entries(agents).map(([key, rest]) => [key, agentOf(key, rest, defaultModel)])),
    teams: Object.fromEntries(TASK_TYPES.map((type) => [type, teamOf(type)])) as Record<TaskType, TeamStep[]>,
    runTimeLimitMs: defaults.run_time_limit ?? RUN_TIME_LIMIT_MS,
    prices,
    servers: new Map(Object.entries(servers).map(([key, rest]) => [key, serverOf(key, rest)])),
    planner: planner
      ? {
          model: planner.model ?? defaultModel,
          instructions: planner.instructions ?? null,
          maxSteps: planner.max_steps,
        }
      : null,
  };
}

/** Returns whether an agent or the planner uses a model. */
export function asksModels({ agents, planner }: Catalogue): boolean {
  return [...agents.values()].some(({ model }) => model !== null) || (planner?.model ?? null) !== null;
}

/** Returns whether an agent is remote or a program. */
export function hasRemoteAgents({ agents }: Catalogue): boolean {
  return [...agents.values()].some(({ a2a, command }) => a2a !== null || command !== null);
}

/** Returns whether workers start programs: agents that are programs, or servers on standard input and output. */
export function hasPrograms({ agents, servers }: Catalogue): boolean {
  return (
    [...agents.values()].some(({ command }) => command !== null) ||
    [...servers.values()].some(({ kind }) => kind === 'stdio')
  );
}

/** Returns the faults of the agents' allow-lists: tools that no server of the catalogue can have. */
function toolFaults(
  agents: Record<string, { tools?: string[] | undefined }>,
  servers: ReadonlySet<string>,
): string[] {
  return Object.entries(agents).flatMap(([agent, { tools = [] }]) =>
    allowListFaults(tools, servers).map((fault) => `agents.${agent}.tools: ${fault}`),
  );
}

/**
 * Returns the faults that a schema cannot express: duplicate names, unknown agents, and steps that do not come earlier.
 */
function teamFaults(
  type: TaskType,
  steps: z.infer<typeof stepSchema>[],
  agents: Record<string, unknown>,
): string[] {
  const seen = new Set<string>();
  return steps.flatMap((step) => {
    const faults: string[] = [];
    if (seen.has(step.step)) faults.push(`teams.${type}: duplicate step ${step.step}`);
    if (!Object.hasOwn(agents, step.agent)) faults.push(`teams.${type}.${step.step}: no agent ${step.agent}`);
    for (const before of step.after ?? []) {
      if (!seen.has(before)) faults.push(`teams.${type}.${step.step}: no step ${before} above it`);
    }
    seen.add(step.step);
    return faults;
  });
}

/**
 * Returns the steps of remote agents and programs whose attempts may take too long: one activity does their work. An
 * agent with a model has many activities.
 */
function timeLimitFaults(
  type: TaskType,
  steps: z.infer<typeof stepSchema>[],
  agents: Record<string, { a2a?: unknown; command?: unknown }>,
  defaultMs = STEP_TIME_LIMIT_MS,
): string[] {
  const most = formatDuration(MAX_ACTIVITY_TIME_LIMIT_MS);
  return steps
    .filter(({ agent, time_limit: ms = defaultMs }) => {
      const isOneActivity = Boolean(agents[agent]?.a2a ?? agents[agent]?.command);
      return isOneActivity && ms > MAX_ACTIVITY_TIME_LIMIT_MS;
    })
    .map(
      ({ step }) =>
        `teams.${type}.${step}: the time limit of a remote agent or a program must be at most ${most}`,
    );
}

function retryOf(retry: z.infer<typeof retrySchema>): StepRetry {
  return {
    maximum_attempts: retry.maximum_attempts,
    initial_interval_ms: retry.initial_interval,
    backoff_coefficient: retry.backoff_coefficient,
    maximum_interval_ms: retry.maximum_interval,
  };
}
