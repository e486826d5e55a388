import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../dev/common/free-port.ts';
import { startNodeService } from '../dev/launcher/node-service.ts';
import { inCheckout } from '../dev/common/paths.ts';
import { withClient } from '../dev/services/postgres.ts';
import { migrate } from '../src/database/migrate.ts';
import { setUpInstallation, type Installation } from '../src/runtime/installation.ts';
import { ENTRY_POINTS } from '../test/support/entry-points.ts';
import { createPart, postgresIn, temporalIn, type Part } from '../test/support/parts.ts';
import { FOLDER_PREFIX, prepareDisk, removeLeftoverFolders, type Disk } from './disk.ts';
import { OWN_PARTS, type LinkName, type OwnPart, type PartName } from './plan-faults.ts';
import { openLink, type Link } from './proxy.ts';

/** The whole service: every part is a separate process, with a proxy on every connection. */
export type ProxiedService = {
  parts: Readonly<Record<PartName, Part>>;
  link(name: LinkName): Link;
  /** Opens a further connection through a proxy. */
  addLink(name: LinkName, targetPort: number): Promise<Link>;
  /** The addresses for callers and viewers, of their proxies. */
  apiUrls: readonly string[];
  gatewayUrls: readonly string[];
  installation: Installation;
  /** Without a proxy. */
  databaseUrl: string;
  temporalAddress: string;
  namespace: string;
  disk: Disk;
  /** The folder with the log of every part. */
  logs: string;
  close(): Promise<void>;
};

/** PostgreSQL keeps its write-ahead log small and records the times of commits. */
const SETTINGS = { max_wal_size: '96MB', min_wal_size: '32MB', track_commit_timestamp: 'on' };

/**
 * Starts the service. `ca`: the certificate authority of the receivers, PEM; `logs`: a folder, which is created.
 * @throws if a part does not start, with its output; nothing is left behind
 */
export async function startProxiedService(ca: string, logs: string): Promise<ProxiedService> {
  const cleanups: (() => Promise<unknown> | void)[] = [];
  const close = async () => {
    for (const step of cleanups.splice(0).toReversed()) await step();
  };
  try {
    return await startParts(ca, logs, cleanups, close);
  } catch (error) {
    await close();
    throw error;
  }
}

async function startParts(
  ca: string,
  logs: string,
  cleanups: (() => Promise<unknown> | void)[],
  close: () => Promise<void>,
): Promise<ProxiedService> {
  removeLeftoverFolders();
  mkdirSync(logs, { recursive: true });
  const folder = mkdtempSync(join(tmpdir(), `${FOLDER_PREFIX}${process.pid}-`));
  chmodSync(folder, 0o711); // PostgreSQL may run as another user
  cleanups.push(() => rmSync(folder, { recursive: true, force: true }));
  const disk = prepareDisk(folder);
  cleanups.push(() => disk.remove());
  const password = randomBytes(16).toString('hex');
  const logOf = (name: string) => join(logs, `${name}.log`);
  const postgres = createPart(postgresIn(disk.folder, password, logOf('postgres')));
  const temporal = createPart(temporalIn(folder, logOf('temporal')));
  cleanups.push(() => Promise.all([postgres.stop(), temporal.stop()]));
  await allSettledOrThrow([postgres.start().then(() => applySettings(postgres)), temporal.start()]);
  const { address: temporalAddress, namespace, port: temporalPort } = temporal.running();
  const databaseUrl = postgres.running().url();
  await migrate(databaseUrl);
  const installation = await setUpInstallation(databaseUrl, {
    workspaceName: 'Faults',
    projectName: 'Faults',
    adminEmail: 'owner@example.com',
  });
  const caFile = join(folder, 'ca.pem');
  writeFileSync(caFile, ca);

  const links = new Map<LinkName, Link>();
  cleanups.push(() => Promise.all([...links.values()].map((one) => one.close())));
  const addLink = async (name: LinkName, targetPort: number) => {
    const link = await openLink(targetPort);
    links.set(name, link);
    return link;
  };
  const link = (name: LinkName) => {
    const found = links.get(name);
    if (!found) throw new Error(`there is no connection ${name}`);
    return found;
  };
  const shared = {
    ...process.env,
    TEMPORAL_NAMESPACE: namespace,
    BATON_SEALING_KEYS: `faults:${randomBytes(32).toString('base64')}`,
    BATON_TOKEN_KEYS: `faults:${randomBytes(32).toString('base64')}`,
    OUTBOUND_ALLOW: '127.0.0.0/8,::1/128',
    OUTBOUND_CA_FILE: caFile,
    CHANNEL_IN_API: 'false',
    LOG_LEVEL: 'info',
  };
  const ports = new Map<OwnPart, number>();
  const createOwnPart = async (name: OwnPart): Promise<[OwnPart, Part]> => {
    const port = await freePort();
    ports.set(name, port);
    const database = new URL(databaseUrl);
    database.port = String((await addLink(`${name} to postgres`, postgres.running().port)).port);
    const temporalLink = await addLink(`${name} to temporal`, temporalPort);
    const environment = {
      ...shared,
      PORT: String(port),
      DATABASE_URL: database.href,
      TEMPORAL_ADDRESS: `127.0.0.1:${temporalLink.port}`,
    };
    const root = inCheckout(ENTRY_POINTS[name.replace(/-\d$/, '') as keyof typeof ENTRY_POINTS]);
    return [name, createPart(() => startNodeService({ name, root, logFile: logOf(name), environment }))];
  };
  const ownParts = Object.fromEntries(await Promise.all(OWN_PARTS.map(createOwnPart))) as Record<
    OwnPart,
    Part
  >;
  cleanups.push(() => Promise.all(Object.values(ownParts).map((part) => part.stop())));
  await allSettledOrThrow(Object.values(ownParts).map((part) => part.start()));
  const portOf = (name: OwnPart) => ports.get(name) ?? 0;
  const openFrontLink = async (name: LinkName, part: OwnPart) =>
    `http://127.0.0.1:${(await addLink(name, portOf(part))).port}`;
  return {
    parts: { ...ownParts, temporal, postgres },
    link,
    addLink,
    apiUrls: [
      await openFrontLink('callers to api-1', 'api-1'),
      await openFrontLink('callers to api-2', 'api-2'),
    ],
    gatewayUrls: [
      await openFrontLink('viewers to gateway-1', 'gateway-1'),
      await openFrontLink('viewers to gateway-2', 'gateway-2'),
    ],
    installation,
    databaseUrl,
    temporalAddress,
    namespace,
    disk,
    logs,
    close,
  };
}

/** Waits for all tasks, so that none is in progress when one has failed. @throws the first failure */
async function allSettledOrThrow(tasks: readonly Promise<unknown>[]): Promise<void> {
  for (const one of await Promise.allSettled(tasks)) if (one.status === 'rejected') throw one.reason;
}

/** Applies the scenario's settings to PostgreSQL and restarts it. */
async function applySettings(postgres: Part & { running(): { url(name?: string): string } }): Promise<void> {
  await withClient(postgres.running().url('postgres'), async (client) => {
    for (const [name, value] of Object.entries(SETTINGS)) {
      await client.query(`alter system set ${name} = '${value}'`);
    }
  });
  await postgres.stop();
  await postgres.start();
}
