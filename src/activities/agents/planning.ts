import type { Catalogue } from '../../agents/catalogue.ts';
import { planOf } from '../../agents/plan.ts';
import { draftJsonSchema, plannerInstructions, stepsOfDraft } from '../../agents/plan-draft.ts';
import { taskSections } from '../../agents/prompt.ts';
import { stepIdsOf } from '../../database/common/ids.ts';
import type { Database } from '../../database/database.ts';
import { findTaskTexts } from '../../database/tasks/step-results.ts';
import { MODEL_CALL_TIME_LIMIT_MS } from '../../domain/common/limits.ts';
import type { Plan } from '../../domain/tasks/plan.ts';
import type { TaskType } from '../../domain/tasks/task-run.ts';

export type PlanningActivities = ReturnType<typeof createPlanningActivities>;

/** The run that a planner plans. */
export type PlanningInput = { executionId: string; taskType: TaskType };

/** Input for the calls of a planner. */
export type PlanBrief = {
  model: string;
  instructions: string;
  prompt: string;
  schema: Record<string, unknown>;
  callTimeMs: number;
};

/** Creates the short activities of a planner. */
export function createPlanningActivities({
  database,
  catalogue,
}: {
  database: Database;
  catalogue: Catalogue;
}) {
  return {
    /** Reads the input of the planner; null if there is no planner any more, or the task was erased. */
    async openPlanning({ executionId, taskType }: PlanningInput): Promise<PlanBrief | null> {
      const task = await findTaskTexts(database, executionId);
      const model = catalogue.planner?.model;
      if (!task || !model) return null;
      return {
        model,
        instructions: plannerInstructions(catalogue, taskType),
        prompt: taskSections(task).join('\n\n'),
        schema: draftJsonSchema(catalogue, taskType),
        callTimeMs: MODEL_CALL_TIME_LIMIT_MS,
      };
    },

    /** Converts the planner's draft to a plan, or returns what is wrong with it. */
    async checkDraft(
      { executionId, taskType }: PlanningInput,
      draft: unknown,
    ): Promise<{ plan: Plan } | { faults: string[] }> {
      const drafted = stepsOfDraft(catalogue, taskType, draft, stepIdsOf(executionId));
      if ('faults' in drafted) return drafted;
      return { plan: planOf(catalogue, { taskType, rehearsal: null }, drafted.steps) };
    },
  };
}
