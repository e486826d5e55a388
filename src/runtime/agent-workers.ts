import { createArtifactActivities } from '../activities/agents/artifacts.ts';
import { createFollowActivities } from '../activities/agents/follow-agent.ts';
import { createModelActivities } from '../activities/agents/invoke-model.ts';
import { createPlanningActivities } from '../activities/agents/planning.ts';
import { createStepActivities } from '../activities/agents/steps.ts';
import { createRehearsalActivities } from '../activities/rehearse.ts';
import { asksModels, hasPrograms, hasRemoteAgents, type Catalogue } from '../agents/catalogue.ts';
import { createAgentTools, createRemoteAgents, modelsOf, type Programs } from './agent-tools.ts';
import { createAgentMetrics } from '../telemetry/event-metrics.ts';
import { createAgentTraces } from '../telemetry/gen-ai.ts';
import type { Foundation } from './foundation.ts';
import { NO_ISOLATION } from '../agents/isolation.ts';
import { isolatePrograms, type ChosenIsolation } from './program-isolation.ts';
import type { Engine } from './temporal.ts';
import type { RunningWorker, Workers } from './workers.ts';

/** Maximum number of concurrent calls of a worker, including rehearsed steps. */
const AGENT_SLOTS = 100;

/**
 * Starts the worker of the agents' queue. If no agent of the catalogue asks a model it only rehearses, without the code
 * that agents with models need. `chosen`: the isolation of programs; null if it is to be chosen.
 */
export async function startAgentWorker(
  workers: Workers,
  foundation: Foundation,
  catalogue: Catalogue,
  { client }: Pick<Engine, 'client'>,
  chosen: ChosenIsolation | null,
): Promise<RunningWorker> {
  const { database, configuration, log } = foundation;
  const isolation = hasPrograms(catalogue) ? await isolatePrograms(configuration, chosen, log) : NO_ISOLATION;
  const programs = { catalogue, isolation };
  const models = asksModels(catalogue) ? openModels(foundation, programs) : null;
  const remote = hasRemoteAgents(catalogue) ? createRemoteAgents(foundation, programs) : null;
  return await workers.start(
    'agents',
    {
      ...(models ? { workflowBundle: await workers.agentsBundle() } : {}),
      activities: {
        ...createRehearsalActivities({ database }),
        ...createFollowActivities(client),
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

function openModels(foundation: Foundation, programs: Programs) {
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
