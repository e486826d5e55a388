import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { freePort } from '../../dev/common/free-port.ts';
import { startNodeService } from '../../dev/launcher/node-service.ts';
import { checkout } from '../../dev/common/paths.ts';
import { setUpInstallation, type Installation } from '../../src/runtime/installation.ts';
import { cliWith, type Cli } from '../cli/cli-process.ts';
import { createPart, type Part } from '../support/parts.ts';
import { eventually } from '../support/eventually.ts';
import { send, type Answered, type Asked } from '../support/service.ts';
import { freshDatabase, services } from '../support/services.ts';
import { settingsOn } from '../support/settings.ts';

const ROOTS = {
  api: 'src/api/server.ts',
  gateway: 'src/gateway/server.ts',
  worker: 'workers/task-worker.ts',
  deliveryWorker: 'workers/delivery-worker.ts',
} as const;

/** What a process is: its kind, its version, and where its code lies. */
export type Place = { kind: keyof typeof ROOTS; build: string | null; folder?: string };

/** A process of the service; `url` is where it listens, if it does. */
export type Process = Part & { url: string };

/** Processes of several versions over one database and one Temporal. */
export type Fleet = {
  installation: Installation;
  databaseUrl: string;
  client: Client;
  environment: Record<string, string>;
  /** The command line of an operator, with the environment of the processes. */
  cli: Cli;
  /** Starts a process; the fleet stops it at its end. */
  start(place: Place): Promise<Process>;
  /** The same without starting it. */
  prepare(place: Place): Promise<Process>;
  send(process: Process, method: string, path: string, asked?: Asked): Promise<Answered>;
  /** Submits a rehearsal; answers its id. */
  submit(process: Process, members?: Record<string, unknown>): Promise<string>;
  /** Resolves when the run is in the state. */
  reaches(process: Process, id: string, state: string, withinMs?: number): Promise<void>;
  /** The version that Temporal says a workflow belongs to; null: none. */
  versionOf(workflowId: string): Promise<string | null>;
  /**
   * The same for a run that completes. Its state is `completed` a moment before Temporal records the end, and with it the
   * version.
   */
  endedOn(workflowId: string): Promise<string | null>;
  /** What the processes have logged, as one text. */
  logged(): string;
  /** Makes a version the one for all that is new. */
  use(build: string): Promise<void>;
  close(): Promise<void>;
};

/** What a test may give instead of the run's own database and Temporal. */
export type Ground = { databaseUrl: string; temporalAddress: string; installation: Installation };

/** A fleet without processes. */
export async function startFleet(
  variables: Record<string, string> = {},
  ground: Ground | null = null,
): Promise<Fleet> {
  const fresh = ground === null ? await freshDatabase() : null;
  const databaseUrl = ground?.databaseUrl ?? fresh?.url ?? '';
  const folder = mkdtempSync(join(tmpdir(), 'baton-fleet-'));
  const installation =
    ground?.installation ??
    (await setUpInstallation(databaseUrl, {
      workspaceName: 'Test',
      projectName: 'First',
      adminEmail: 'owner@example.com',
    }));
  const temporalAddress = ground?.temporalAddress ?? services().temporalAddress;
  const environment = {
    ...settingsOn(databaseUrl),
    TEMPORAL_ADDRESS: temporalAddress,
    LOG_LEVEL: 'debug',
    ...variables,
  };
  const connection = await Connection.connect({ address: temporalAddress });
  const client = new Client({ connection, namespace: services().namespace });
  const cli = cliWith(environment);
  const processes: Process[] = [];

  async function prepare({ kind, build, folder: code = checkout }: Place): Promise<Process> {
    const port = await freePort();
    const name = `${kind}-${build ?? 'plain'}-${processes.length}`;
    const part = createPart(() =>
      startNodeService({
        name,
        root: join(code, ROOTS[kind]),
        logFile: join(folder, `${name}.log`),
        environment: {
          ...process.env,
          // What a test changes counts from the next start on.
          ...fleet.environment,
          PORT: String(port),
          ...(build === null ? {} : { BATON_BUILD_ID: build }),
        },
      }),
    );
    const made = { ...part, url: `http://127.0.0.1:${port}` };
    processes.push(made);
    return made;
  }

  const fleet: Fleet = {
    installation,
    databaseUrl,
    client,
    environment,
    cli,
    prepare,
    async start(place) {
      const made = await prepare(place);
      await made.start();
      return made;
    },
    send: (process, method, path, asked = {}) =>
      send(`${process.url}${path}`, method, { headers: { 'X-API-Key': installation.api_key }, ...asked }),
    async submit(process, members = {}) {
      const body = { title: 'A task', project_id: installation.project_id, ...members };
      const { status, json, text } = await fleet.send(process, 'POST', '/api/v1/tasks', { body });
      assert.equal(status, 201, text);
      return json.execution_id;
    },
    async reaches(process, id, state, withinMs = 60_000) {
      const look = async () => {
        const { json } = await fleet.send(process, 'GET', `/api/v1/tasks/${id}`);
        return json?.state === state;
      };
      await eventually(`${id} is ${state}`, look, withinMs);
    },
    async versionOf(workflowId) {
      const { raw } = await client.workflow.getHandle(workflowId).describe();
      return raw.workflowExecutionInfo?.versioningInfo?.deploymentVersion?.buildId ?? null;
    },
    async endedOn(workflowId) {
      await client.workflow.getHandle(workflowId).result();
      return await fleet.versionOf(workflowId);
    },
    logged: () =>
      readdirSync(folder)
        .map((file) => readFileSync(join(folder, file), 'utf8'))
        .join(''),
    async use(build) {
      const { code, stderr } = await cli.run(['admin', 'use-version', build]);
      assert.equal(code, 0, stderr);
    },
    async close() {
      await Promise.all(processes.map((one) => one.stop()));
      await connection.close();
      await cli.cleanUp();
      rmSync(folder, { recursive: true, force: true });
      await fresh?.drop();
    },
  };
  return fleet;
}
