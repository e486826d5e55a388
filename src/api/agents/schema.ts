import { z } from 'zod';
import { BACKENDS } from '../../domain/tasks/plan.ts';
import { TASK_TYPES } from '../../domain/tasks/task-run.ts';
import { timestamp } from '../http/fields.ts';

const limits = z.strictObject({
  model_calls: z.int(),
  tokens: z.int().nullable(),
  cost_usd: z.number().nullable(),
  on_limit: z.enum(['fail', 'escalate']),
});

export const agent = z
  .strictObject({
    name: z.string(),
    instructions: z.string(),
    backend: z.enum(BACKENDS).describe('What runs the agent'),
    model: z.string().nullable().describe('`provider/model`; null if it has none'),
    tools: z.array(z.string()).describe('Tools that the agent can call; `*` means all tools of a server'),
    limits: limits.describe('Limits of one step attempt; null: default limits'),
    address: z.string().nullable().describe('Address of an A2A agent; only for admins'),
    command: z
      .array(z.string())
      .nullable()
      .describe('Command of an agent that is a program; only for admins'),
    last_call: z
      .strictObject({ at: timestamp, ok: z.boolean() })
      .nullable()
      .describe('When the agent was last called, and whether the call succeeded'),
  })
  .meta({ id: 'Agent' });

export const server = z
  .strictObject({
    name: z.string(),
    transport: z.enum(['stdio', 'http']),
    time_limit_ms: z.int().describe('Time limit of one call'),
    address: z.string().nullable().describe('Only for admins'),
    command: z.array(z.string()).nullable().describe('Only for admins'),
  })
  .meta({ id: 'ToolServer' });

const teamStep = z.strictObject({
  step: z.string(),
  agent: z.string(),
  after: z.array(z.string()),
  time_limit_ms: z.int(),
});

export const agentList = z
  .strictObject({
    data: z.array(agent),
    servers: z.array(server).describe('MCP servers that provide tools'),
    teams: z.strictObject(
      Object.fromEntries(TASK_TYPES.map((type) => [type, z.array(teamStep)])) as Record<
        (typeof TASK_TYPES)[number],
        z.ZodArray<typeof teamStep>
      >,
    ),
    planner: z
      .strictObject({ model: z.string().nullable(), max_steps: z.int() })
      .nullable()
      .describe('Agent that plans the steps of runs; null: runs follow the steps of their team'),
  })
  .meta({ id: 'AgentList' });
