import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../dev/common/free-port.ts';
import { startNodeService } from '../../dev/launcher/node-service.ts';
import { inCheckout } from '../../dev/common/paths.ts';
import { SHARED_RINGS } from './rings.ts';
import { services } from './services.ts';

/** A gateway in a separate process. */
export type GatewayProcess = { url: string; pid: number; stop(): Promise<void> };

/**
 * Starts gateways in addition to a world with {@link SHARED_RINGS}, on the same database and Temporal. `close` stops them all.
 */
export async function startGateways(
  world: { databaseUrl: string; taskQueue: string },
  count: number,
  environment: Record<string, string> = {},
): Promise<{ gateways: GatewayProcess[]; close(): Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), 'baton-gateways-'));
  const start = async (number: number): Promise<GatewayProcess> => {
    const port = await freePort();
    const { pid, stop } = await startNodeService({
      name: `gateway ${number}`,
      root: inCheckout('src', 'gateway', 'server.ts'),
      logFile: join(folder, `gateway-${number}.log`),
      environment: {
        ...process.env,
        ...SHARED_RINGS,
        PORT: String(port),
        DATABASE_URL: world.databaseUrl,
        TEMPORAL_ADDRESS: services().temporalAddress,
        TEMPORAL_NAMESPACE: services().namespace,
        BATON_TASK_QUEUE: world.taskQueue,
        LOG_LEVEL: 'debug',
        ...environment,
      },
    });
    return { pid, url: `http://127.0.0.1:${port}`, stop: async () => void (await stop()) };
  };
  const gateways = await Promise.all(Array.from({ length: count }, (_, index) => start(index + 1)));
  return {
    gateways,
    async close() {
      await Promise.all(gateways.map((gateway) => gateway.stop()));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
