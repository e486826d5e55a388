import { createArtifactActivities } from '../activities/agents/artifacts.ts';
import { createModelActivities } from '../activities/agents/invoke-model.ts';
import { createPlanningActivities } from '../activities/agents/planning.ts';
import { createStepActivities } from '../activities/agents/steps.ts';
import { createAgentMetrics } from '../telemetry/event-metrics.ts';
import { createAgentTraces } from '../telemetry/gen-ai.ts';
import { createAgentTools, modelsOf, type Programs } from './agent-tools.ts';
import type { Foundation } from './foundation.ts';

/** Creates the activities of agents with models. `close` ends their tools and connections. */
export function openAgentModels(foundation: Foundation, programs: Programs) {
  const { catalogue } = programs;
  const { database, configuration, telemetry } = foundation;
  const metrics = telemetry.registry && createAgentMetrics(telemetry.registry);
  const traces = createAgentTraces(telemetry.tracing);
  const models = modelsOf(configuration.models);
  const tools = createAgentTools(foundation, programs, metrics?.onToolCall);
  const clock = () => new Date();
  const { historyEvents } = configuration.models;
  return {
    activities: {
      ...createModelActivities({
        database,
        models,
        prices: catalogue.prices,
        clock,
        traces,
        onCall: metrics?.onModelCall,
      }),
      ...createPlanningActivities({ database, catalogue }),
      ...createStepActivities({ database, catalogue, historyEvents, clock }),
      ...createArtifactActivities({ database, clock }),
      ...tools.activities,
    },
    async close() {
      await tools.close();
      await models.close();
    },
  };
}
