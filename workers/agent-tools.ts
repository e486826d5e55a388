import { readFileSync } from 'node:fs';
import type { Logger } from 'pino';
import { createRemoteAgentActivities } from '../src/activities/agents/remote-agents.ts';
import { createStepActivities } from '../src/activities/agents/steps.ts';
import { createToolActivities } from '../src/activities/agents/tools.ts';
import type { Catalogue } from '../src/agents/catalogue.ts';
import { createToolServers } from '../src/agents/tool-servers.ts';
import type { Configuration } from '../src/configuration.ts';
import type { Database } from '../src/database/connect.ts';
import { createAddressGuard } from '../src/outbound/address-guard.ts';
import { createGuardedFetch, type GuardedFetch } from '../src/outbound/guarded-fetch.ts';

/** How outgoing requests of agents are judged and made. */
export type OutboundSettings = Pick<Configuration, 'outboundAllow' | 'outboundCaFile' | 'outboundProxy'>;

/** `fetch` as the configuration allows it. @throws where the certificates or the proxy can't be read */
export function guardedFetchOf({
  outboundAllow,
  outboundCaFile,
  outboundProxy,
}: OutboundSettings): GuardedFetch {
  return createGuardedFetch({
    guard: createAddressGuard(outboundAllow),
    ...(outboundCaFile === null ? {} : { ca: readFileSync(outboundCaFile, 'utf8') }),
    ...(outboundProxy === null ? {} : { proxy: outboundProxy }),
  });
}

type Needs = {
  database: Database;
  catalogue: Catalogue;
  outbound: OutboundSettings;
  environment: Readonly<Record<string, string | undefined>>;
  log: Logger;
  /** Told of every call of a tool that has ended. */
  onCall?: ((call: { failed: boolean }) => void) | undefined;
};

/** The tools of the catalogue's servers: nothing is started or connected to before the first use. */
export function createAgentTools({ database, catalogue, outbound, environment, log, onCall }: Needs) {
  const { fetch, close } = guardedFetchOf(outbound);
  const servers = createToolServers({
    servers: catalogue.servers,
    environment,
    fetch,
    onComplaint: (server, line) => log.debug({ server }, line),
  });
  return {
    activities: createToolActivities({
      database,
      catalogue,
      servers,
      clock: () => new Date(),
      onCall,
      onFault: (agent, fault) => log.warn({ agent }, `a tool is not to be had: ${fault}`),
    }),
    async close() {
      await servers.close();
      await close();
    },
  };
}

/** The agents of the catalogue that are elsewhere: at an address, or programs. */
export function createRemoteAgents({ database, catalogue, outbound, environment, log }: Needs) {
  const { fetch, close } = guardedFetchOf(outbound);
  const clock = () => new Date();
  const { leaveResult } = createStepActivities({ database, catalogue, historyEvents: 0, clock });
  const onComplaint = (agent: string, line: string) => log.debug({ agent }, line);
  return {
    activities: createRemoteAgentActivities({
      database,
      catalogue,
      environment,
      fetch,
      clock,
      onComplaint,
      leaveResult,
    }),
    close,
  };
}
