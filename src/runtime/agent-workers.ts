import { createArtifactActivities } from '../activities/agents/artifacts.ts';
import { createModelActivities } from '../activities/agents/invoke-model.ts';
import { createPlanningActivities } from '../activities/agents/planning.ts';
import { createStepActivities } from '../activities/agents/steps.ts';
import { createRehearsalActivities } from '../activities/rehearse.ts';
import { asksModels, hasRemoteAgents, type Catalogue } from '../agents/catalogue.ts';
import { createAgentTools, createRemoteAgents, modelsOf } from './agent-tools.ts';
import { createAgentMetrics } from '../telemetry/event-metrics.ts';
import type { Foundation } from './foundation.ts';
import type { RunningWorker, Workers } from './workers.ts';

/** Maximum number of concurrent calls of a worker, including rehearsed steps. */
const AGENT_SLOTS = 100;

/**
 * Starts the worker of the agents' queue. If no agent of the catalogue asks a model it only rehearses, without the code
 * that agents with models need.
 */
export async function startAgentWorker(
  workers: Workers,
  foundation: Foundation,
  catalogue: Catalogue,
): Promise<RunningWorker> {
  const { database } = foundation;
  const models = asksModels(catalogue) ? openModels(foundation, catalogue) : null;
  const remote = hasRemoteAgents(catalogue) ? createRemoteAgents(foundation, catalogue) : null;
  return await workers.start(
    'agents',
    {
      ...(models ? { workflowBundle: await workers.agentsBundle() } : {}),
      activities: {
        ...createRehearsalActivities({ database }),
        ...models?.activities,
        ...remote?.activities,
      },
      maxConcurrentActivityTaskExecutions: AGENT_SLOTS,
      // Temporal reports a cancellation with its response to a heartbeat.
      maxHeartbeatThrottleInterval: '1500 ms',
    },
    async () => {
      await models?.close();
      await remote?.close();
    },
  );
}

function openModels(foundation: Foundation, catalogue: Catalogue) {
  const { database, configuration, telemetry } = foundation;
  const metrics = telemetry.registry && createAgentMetrics(telemetry.registry);
  const models = modelsOf(configuration.models);
  const tools = createAgentTools(foundation, catalogue, metrics?.onToolCall);
  const clock = () => new Date();
  const { historyEvents } = configuration.models;
  return {
    activities: {
      ...createModelActivities({
        database,
        models,
        prices: catalogue.prices,
        clock,
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
