import type { DataConverter } from '@temporalio/common';
import { Runtime, Worker, type NativeConnection } from '@temporalio/worker';
import type { Logger } from 'pino';
import { createArtifactActivities } from '../src/activities/agents/artifacts.ts';
import { createModelActivities } from '../src/activities/agents/invoke-model.ts';
import { createPlanningActivities } from '../src/activities/agents/planning.ts';
import { createStepActivities } from '../src/activities/agents/steps.ts';
import { createRehearsalActivities } from '../src/activities/rehearse.ts';
import { asksModels, hasRemoteAgents, type Catalogue } from '../src/agents/catalogue.ts';
import { createModels } from '../src/agents/models.ts';
import type { ModelSettings, WorkersVersion } from '../src/configuration.ts';
import type { Database } from '../src/database/connect.ts';
import { createAgentTools, createRemoteAgents, type OutboundSettings } from './agent-tools.ts';
import { measureAgents } from '../src/telemetry/measures.ts';
import { taskQueues } from '../src/workflows/messages.ts';
import type { Telemetry } from './telemetry.ts';
import { tracedWorker } from './tracing.ts';
import { agentsBundle } from './bundle.ts';
import { runningWorker, type RunningWorker } from './run-worker.ts';
import { versionOptions } from './versioning.ts';

type Needs = {
  connection: NativeConnection;
  namespace: string;
  dataConverter: DataConverter;
  /** The prefix of the task queues. */
  taskQueue: string;
  version: WorkersVersion | null;
  database: Database;
  catalogue: Catalogue;
  models: ModelSettings;
  outbound: OutboundSettings;
  log: Logger;
  telemetry: Telemetry;
};

/** How many calls, rehearsed steps among them, one worker has under way at once. */
const AGENT_SLOTS = 100;

/**
 * The worker of the agents' queue. Where nothing of the catalogue asks a model it only rehearses, without the code
 * that agents with models need.
 */
export async function startAgents(needs: Needs): Promise<RunningWorker> {
  const { connection, namespace, dataConverter, taskQueue, version, database, catalogue } = needs;
  const withModels = asksModels(catalogue) ? await createMeans(needs) : null;
  const remote = hasRemoteAgents(catalogue)
    ? createRemoteAgents({ ...needs, environment: process.env })
    : null;
  const worker = runningWorker(
    await Worker.create({
      connection,
      namespace,
      dataConverter,
      taskQueue: taskQueues(taskQueue).agents,
      ...versionOptions(version),
      ...(withModels ? { workflowBundle: withModels.bundle } : {}),
      ...tracedWorker(needs.telemetry.tracing),
      activities: {
        ...createRehearsalActivities({ database }),
        ...withModels?.activities,
        ...remote?.activities,
      },
      maxConcurrentActivityTaskExecutions: AGENT_SLOTS,
      // A cancelled call is told so with the answer to a heartbeat.
      maxHeartbeatThrottleInterval: '1500 ms',
      stickyQueueScheduleToStartTimeout: '5 s',
      shutdownGraceTime: '5 s',
    }),
  );
  return {
    stopped: worker.stopped,
    state: worker.state,
    async shutdown() {
      await worker.shutdown();
      await withModels?.close();
      await remote?.close();
    },
  };
}

async function createMeans(needs: Needs) {
  const { dataConverter, database, catalogue, models: settings, outbound, log } = needs;
  const { registry, tracing } = needs.telemetry;
  const measures = registry && measureAgents(registry);
  const models = createModels(settings);
  const tools = createAgentTools({
    database,
    catalogue,
    outbound,
    environment: process.env,
    log,
    onCall: measures?.onToolCall,
  });
  const clock = () => new Date();
  return {
    bundle: await agentsBundle(Runtime.instance().logger, dataConverter, tracing !== null),
    activities: {
      ...createModelActivities({
        database,
        models,
        prices: catalogue.prices,
        clock,
        onCall: measures?.onModelCall,
      }),
      ...createPlanningActivities({ database, catalogue }),
      ...createStepActivities({ database, catalogue, historyEvents: settings.historyEvents, clock }),
      ...createArtifactActivities({ database, clock }),
      ...tools.activities,
    },
    async close() {
      await tools.close();
      await models.close();
    },
  };
}
