import { z } from 'zod';
import { MAX_STEPS } from '../domain/common/limits.ts';
import type { PlannedStep } from '../domain/tasks/plan.ts';
import type { TaskType } from '../domain/tasks/task-run.ts';
import type { Catalogue } from './catalogue.ts';
import { cutText } from './cut.ts';

const TASK_BYTES = 2_000;

const draftSchema = z.object({
  steps: z
    .array(
      z.object({
        name: z.string().regex(/^[a-z][a-z0-9-]{0,62}$/, 'must be lower-case letters, digits and dashes'),
        agent: z.string(),
        task: z.string().trim().min(1),
        after: z.array(z.string()).max(MAX_STEPS),
      }),
    )
    .min(1),
});

/** Returns the JSON Schema of a planner's response. Strict, as providers require: every field is required. */
export function draftJsonSchema(catalogue: Catalogue, taskType: TaskType): Record<string, unknown> {
  const text = (description: string) => ({ type: 'string', description });
  return objectOf({
    steps: {
      type: 'array',
      description: `The steps in their order, at most ${maxSteps(catalogue)}`,
      items: objectOf({
        name: text('Lower-case letters, digits and dashes; unique in the plan'),
        agent: {
          type: 'string',
          enum: teamOf(catalogue, taskType),
          description: 'The agent that does the step',
        },
        task: text('What the agent must do, and when the step is done, in some sentences'),
        after: {
          type: 'array',
          items: { type: 'string' },
          description:
            'Names of earlier steps that must be done first. If empty, the step begins immediately',
        },
      }),
    },
  });
}

/** Returns the instructions of a planner. */
export function plannerInstructions(catalogue: Catalogue, taskType: TaskType): string {
  const agents = teamOf(catalogue, taskType).map(
    (name) => `- ${name}: ${catalogue.agents.get(name)?.instructions ?? ''}`,
  );
  return [
    'You plan the work of a team of agents on a task. You do not do the work, and you give no advice.',
    `The team:\n${agents.join('\n')}`,
    `Write at most ${maxSteps(catalogue)} steps, as few as possible. One agent does each step. It gets the ` +
      'task, your description of the step, and the results of the steps that it depends on. Steps that do not depend on ' +
      'each other run at the same time.',
    `Answer only with JSON that matches this JSON Schema:\n${JSON.stringify(draftJsonSchema(catalogue, taskType))}`,
    ...(catalogue.planner?.instructions ? [catalogue.planner.instructions] : []),
  ].join('\n\n');
}

/**
 * Converts a planner's draft to the steps of a plan. Time limits and retries are those of the agent's first step in the
 * team. Returns the faults if the plan cannot be executed: an agent of another team, a step after one that is not above
 * it, too many steps.
 */
export function stepsOfDraft(
  catalogue: Catalogue,
  taskType: TaskType,
  draft: unknown,
  newId: () => string,
): { steps: PlannedStep[] } | { faults: string[] } {
  const read = draftSchema.safeParse(draft);
  if (!read.success) {
    return {
      faults: read.error.issues.map(({ path, message }) => `${path.join('.') || 'the answer'}: ${message}`),
    };
  }
  const faults = draftFaults(read.data.steps, catalogue, taskType);
  if (faults.length > 0) return { faults };
  return {
    steps: read.data.steps.flatMap(({ name, agent, task, after }): PlannedStep[] => {
      const model = catalogue.teams[taskType].find((step) => step.agent === agent);
      if (!model) return [];
      const { timeLimitMs: time_limit_ms, retry } = model.limits;
      const taskText = cutText(task, TASK_BYTES).text;
      return [{ id: newId(), name, agent, after: [...new Set(after)], time_limit_ms, retry, task: taskText }];
    }),
  };
}

function draftFaults(
  steps: readonly { name: string; agent: string; after: string[] }[],
  catalogue: Catalogue,
  taskType: TaskType,
): string[] {
  const team = teamOf(catalogue, taskType);
  const most = maxSteps(catalogue);
  const above = new Set<string>();
  const faults = steps.flatMap(({ name, agent, after }) => {
    const own: string[] = [];
    if (above.has(name)) own.push(`duplicate step ${name}`);
    if (!team.includes(agent)) own.push(`${name}: ${agent} is not in the team, which is ${team.join(', ')}`);
    for (const before of after) if (!above.has(before)) own.push(`${name}: no step ${before} above it`);
    above.add(name);
    return own;
  });
  return steps.length > most
    ? [`${steps.length} steps are too many: at most ${most} are allowed`, ...faults]
    : faults;
}

function teamOf({ teams }: Catalogue, taskType: TaskType): string[] {
  return [...new Set(teams[taskType].map(({ agent }) => agent))];
}

function maxSteps({ planner }: Catalogue): number {
  return planner?.maxSteps ?? MAX_STEPS;
}

function objectOf(properties: Record<string, unknown>): Record<string, unknown> {
  return { type: 'object', properties, required: Object.keys(properties), additionalProperties: false };
}
