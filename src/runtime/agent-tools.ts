import { createRemoteAgentActivities } from '../activities/agents/remote-agents.ts';
import { createStepActivities } from '../activities/agents/steps.ts';
import { createToolActivities } from '../activities/agents/tools.ts';
import type { Catalogue } from '../agents/catalogue.ts';
import type { Isolation } from '../agents/isolation.ts';
import { withTraceHeader } from '../agents/request-trace.ts';
import { createToolServers } from '../agents/tool-servers.ts';
import { createAgentTraces } from '../telemetry/gen-ai.ts';
import { createModels, type Models } from '../agents/models.ts';
import type { ModelSettings } from './configuration.ts';
import type { Foundation } from './foundation.ts';
import { createLimitedFetch } from '../outbound/limited-fetch.ts';
import { createGuardedFetch, type GuardedFetch } from '../outbound/guarded-fetch.ts';
import { outboundOptions, type OutboundSettings } from './outgoing.ts';

/** The catalogue, and how its programs are started. */
export type Programs = { catalogue: Catalogue; isolation: Isolation };

/**
 * Returns the `fetch` of agents with the configured guard and proxy. @throws if the certificates or the proxy cannot
 * be read
 */
export function guardedFetchOf(settings: OutboundSettings): GuardedFetch {
  return createGuardedFetch(outboundOptions(settings));
}

/** Returns the models of the configured providers. */
export function modelsOf(settings: ModelSettings): Models {
  // A response may take longer than the usual timeouts. Each call has its own limit.
  return createModels(settings, createLimitedFetch({ headersTimeout: 0, bodyTimeout: 0 }));
}

/**
 * Creates the tools of the catalogue's servers. Servers are started or connected at first use. `onCall` is called
 * after each tool call.
 */
export function createAgentTools(
  { database, configuration, log, telemetry }: Foundation,
  { catalogue, isolation }: Programs,
  onCall: ((call: { failed: boolean }) => void) | undefined,
) {
  const { fetch, close } = guardedFetchOf(configuration);
  const traces = createAgentTraces(telemetry.tracing);
  const servers = createToolServers({
    servers: catalogue.servers,
    environment: process.env,
    isolation,
    fetch,
    traceparent: traces.traceparent,
    onDiagnostic: (server, line) => log.debug({ server }, line),
  });
  return {
    activities: createToolActivities({
      database,
      catalogue,
      servers,
      clock: () => new Date(),
      traces,
      onCall,
      onFault: (agent, fault) => log.warn({ agent }, `tool unavailable: ${fault}`),
    }),
    async close() {
      await servers.close();
      await close();
    },
  };
}

/** Creates the agents of the catalogue that run at a URL or as a program. */
export function createRemoteAgents(
  { database, configuration, log, telemetry }: Foundation,
  { catalogue, isolation }: Programs,
) {
  const { fetch, close } = guardedFetchOf(configuration);
  const clock = () => new Date();
  const { leaveResult } = createStepActivities({ database, catalogue, historyEvents: 0, clock });
  const onDiagnostic = (agent: string, line: string) => log.debug({ agent }, line);
  const traces = createAgentTraces(telemetry.tracing);
  return {
    activities: createRemoteAgentActivities({
      database,
      catalogue,
      environment: process.env,
      isolation,
      fetch: withTraceHeader(fetch, traces.traceparent),
      clock,
      traces,
      onDiagnostic,
      leaveResult,
    }),
    close,
  };
}
