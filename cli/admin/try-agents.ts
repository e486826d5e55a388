import { checkAgents, type AgentCheck } from '../../src/agents/check.ts';
import { loadCatalogue } from '../../src/agents/catalogue.ts';
import { createToolServers } from '../../src/agents/tool-servers.ts';
import { readAgentSettings } from '../../src/runtime/configuration.ts';
import { guardedFetchOf, modelsOf } from '../../src/runtime/agent-tools.ts';
import { chooseIsolation } from '../../src/runtime/program-isolation.ts';

/**
 * Tries the agents of the catalogue with the same dependencies and environment as a task worker.
 * @throws Error with sentences if the environment or the catalogue is invalid
 */
export async function tryAgents(
  environment: Readonly<Record<string, string | undefined>>,
): Promise<AgentCheck[]> {
  const settings = readAgentSettings(environment);
  const catalogue = loadCatalogue(settings.agentsFile, settings.models.defaultModel);
  const { isolation } = await chooseIsolation(settings);
  const models = modelsOf(settings.models);
  const { fetch, close } = guardedFetchOf(settings);
  const servers = createToolServers({
    servers: catalogue.servers,
    environment,
    isolation,
    fetch,
    onDiagnostic: () => {},
  });
  try {
    return await checkAgents({ catalogue, models, servers, environment, fetch });
  } finally {
    await servers.close();
    await models.close();
    await close();
  }
}
