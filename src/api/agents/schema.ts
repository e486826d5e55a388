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
    backend: z.enum(BACKENDS).describe('What does its work'),
    model: z.string().nullable().describe('`provider/model`; null where it has none'),
    tools: z.array(z.string()).describe('What it may call; `*` stands for all of a server'),
    limits: limits.describe('Of one attempt of a step; null: no limit of its own'),
    address: z.string().nullable().describe('Of an agent that speaks A2A; for admins alone'),
    command: z.array(z.string()).nullable().describe('Of an agent that is a program; for admins alone'),
    last_call: z
      .strictObject({ at: timestamp, ok: z.boolean() })
      .nullable()
      .describe('When its model, its address or its program was asked last, and whether it answered'),
  })
  .meta({ id: 'Agent' });

export const server = z
  .strictObject({
    name: z.string(),
    transport: z.enum(['stdio', 'http']),
    time_limit_ms: z.int().describe('Of one call'),
    address: z.string().nullable().describe('For admins alone'),
    command: z.array(z.string()).nullable().describe('For admins alone'),
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
    servers: z.array(server).describe('The MCP servers that tools come from'),
    teams: z.strictObject(
      Object.fromEntries(TASK_TYPES.map((type) => [type, z.array(teamStep)])) as Record<
        (typeof TASK_TYPES)[number],
        z.ZodArray<typeof teamStep>
      >,
    ),
    planner: z
      .strictObject({ model: z.string().nullable(), max_steps: z.int() })
      .nullable()
      .describe('Who shapes the steps of runs; null: nobody, the teams are taken as they stand'),
  })
  .meta({ id: 'AgentList' });
