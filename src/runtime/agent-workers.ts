import { createFollowActivities } from '../activities/agents/follow-agent.ts';
import { createRehearsalActivities } from '../activities/rehearse.ts';
import { asksModels, hasPrograms, hasRemoteAgents, type Catalogue } from '../agents/catalogue.ts';
import type { Programs } from './agent-tools.ts';
import type { Foundation } from './foundation.ts';
import { NO_ISOLATION } from '../agents/isolation.ts';
import { isolatePrograms, type ChosenIsolation } from './program-isolation.ts';
import type { Engine } from './temporal.ts';
import type { RunningWorker, Workers } from './workers.ts';

/** Maximum number of concurrent calls of a worker, including rehearsed steps. */
const AGENT_SLOTS = 100;

/**
 * Starts the worker of the agents' queue. If no agent of the catalogue asks a model it only rehearses, and does not load the
 * code that agents with models need (7 MB). `chosen`: the isolation of programs; null if it is to be chosen.
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
  const programs: Programs = { catalogue, isolation };
  const models = asksModels(catalogue)
    ? (await import('./agent-models.ts')).openAgentModels(foundation, programs)
    : null;
  const remote = hasRemoteAgents(catalogue)
    ? (await import('./agent-tools.ts')).createRemoteAgents(foundation, programs)
    : null;
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
