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
import { createPart, postgresIn, temporalIn, type Part } from '../test/support/parts.ts';
import { FOLDER_PREFIX, prepareDisk, sweepFolders, type Disk } from './disk.ts';
import { OWN_PARTS, type LinkName, type OwnPart, type PartName } from './plan-disturbances.ts';
import { openLink, type Link } from './proxy.ts';

/** The whole service, every part a process of its own, with a proxy on every way between two. */
export type Cast = {
  parts: Readonly<Record<PartName, Part>>;
  link(name: LinkName): Link;
  /** Opens a further way. */
  addLink(name: LinkName, targetPort: number): Promise<Link>;
  /** Where callers and viewers go, through their proxies. */
  apiUrls: readonly string[];
  gatewayUrls: readonly string[];
  installation: Installation;
  /** Past every proxy. */
  databaseUrl: string;
  temporalAddress: string;
  namespace: string;
  disk: Disk;
  /** Holds the log of every part. */
  logs: string;
  close(): Promise<void>;
};

const ROOTS: Readonly<Record<string, string>> = {
  api: 'src/api/server.ts',
  gateway: 'src/gateway/server.ts',
  'task-worker': 'workers/task-worker.ts',
  'delivery-worker': 'workers/delivery-worker.ts',
};

/** PostgreSQL writes its log in little room, and says when something was committed. */
const SETTINGS = { max_wal_size: '96MB', min_wal_size: '32MB', track_commit_timestamp: 'on' };

/**
 * Brings the service up. `ca`: the authority of the story's receivers, PEM; `logs`: a folder that is made.
 * @throws where a part does not start, with what it said; nothing is left then
 */
export async function startCast(ca: string, logs: string): Promise<Cast> {
  const undo: (() => Promise<unknown> | void)[] = [];
  const close = async () => {
    for (const step of undo.splice(0).toReversed()) await step();
  };
  try {
    return await bringUp(ca, logs, undo, close);
  } catch (error) {
    await close();
    throw error;
  }
}

async function bringUp(
  ca: string,
  logs: string,
  undo: (() => Promise<unknown> | void)[],
  close: () => Promise<void>,
): Promise<Cast> {
  sweepFolders();
  mkdirSync(logs, { recursive: true });
  const folder = mkdtempSync(join(tmpdir(), `${FOLDER_PREFIX}${process.pid}-`));
  chmodSync(folder, 0o711); // PostgreSQL may run as another user
  undo.push(() => rmSync(folder, { recursive: true, force: true }));
  const disk = prepareDisk(folder);
  undo.push(() => disk.remove());
  const password = randomBytes(16).toString('hex');
  const logOf = (name: string) => join(logs, `${name}.log`);
  const postgres = createPart(postgresIn(disk.folder, password, logOf('postgres')));
  const temporal = createPart(temporalIn(folder, logOf('temporal')));
  undo.push(() => Promise.all([postgres.stop(), temporal.stop()]));
  await settleAll([postgres.start().then(() => settle(postgres)), temporal.start()]);
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
  undo.push(() => Promise.all([...links.values()].map((one) => one.close())));
  const addLink = async (name: LinkName, targetPort: number) => {
    const link = await openLink(targetPort);
    links.set(name, link);
    return link;
  };
  const link = (name: LinkName) => {
    const found = links.get(name);
    if (!found) throw new Error(`there is no way ${name}`);
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
  const ownPart = async (name: OwnPart): Promise<[OwnPart, Part]> => {
    const port = await freePort();
    ports.set(name, port);
    const database = new URL(databaseUrl);
    database.port = String((await addLink(`${name} to postgres`, postgres.running().port)).port);
    const engine = await addLink(`${name} to temporal`, temporalPort);
    const environment = {
      ...shared,
      PORT: String(port),
      DATABASE_URL: database.href,
      TEMPORAL_ADDRESS: `127.0.0.1:${engine.port}`,
    };
    const root = inCheckout(ROOTS[name.replace(/-\d$/, '')] ?? '');
    return [name, createPart(() => startNodeService({ name, root, logFile: logOf(name), environment }))];
  };
  const own = Object.fromEntries(await Promise.all(OWN_PARTS.map(ownPart))) as Record<OwnPart, Part>;
  undo.push(() => Promise.all(Object.values(own).map((part) => part.stop())));
  await settleAll(Object.values(own).map((part) => part.start()));
  const portOf = (name: OwnPart) => ports.get(name) ?? 0;
  const front = async (name: LinkName, part: OwnPart) =>
    `http://127.0.0.1:${(await addLink(name, portOf(part))).port}`;
  return {
    parts: { ...own, temporal, postgres },
    link,
    addLink,
    apiUrls: [await front('callers to api-1', 'api-1'), await front('callers to api-2', 'api-2')],
    gatewayUrls: [
      await front('viewers to gateway-1', 'gateway-1'),
      await front('viewers to gateway-2', 'gateway-2'),
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

/** All of these, so that none is still on its way when one has failed. @throws what the first one threw that failed */
async function settleAll(works: readonly Promise<unknown>[]): Promise<void> {
  for (const one of await Promise.allSettled(works)) if (one.status === 'rejected') throw one.reason;
}

/** Gives PostgreSQL the story's settings, which takes a restart. */
async function settle(postgres: Part & { running(): { url(name?: string): string } }): Promise<void> {
  await withClient(postgres.running().url('postgres'), async (client) => {
    for (const [name, value] of Object.entries(SETTINGS)) {
      await client.query(`alter system set ${name} = '${value}'`);
    }
  });
  await postgres.stop();
  await postgres.start();
}
