import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { freePort } from '../../dev/common/free-port.ts';
import { startNodeService } from '../../dev/launcher/node-service.ts';
import { checkout } from '../../dev/common/paths.ts';
import { type Installation } from '../../src/runtime/installation.ts';
import { cliWith, type Cli } from '../cli/cli-process.ts';
import { setUpTestInstallation } from '../support/installation.ts';
import { createPart, type Part } from '../support/parts.ts';
import { eventually } from '../support/eventually.ts';
import { send, type Answered, type Asked } from '../support/service.ts';
import { freshDatabase, services } from '../support/services.ts';
import { settingsOn } from '../support/settings.ts';
import { steerRun } from '../support/steer-run.ts';

const ROOTS = {
  api: 'src/api/server.ts',
  gateway: 'src/gateway/server.ts',
  worker: 'workers/task-worker.ts',
  deliveryWorker: 'workers/delivery-worker.ts',
} as const;

/** A process to start: its kind, its version, and the folder of its code. */
export type Place = { kind: keyof typeof ROOTS; build: string | null; folder?: string };

/** A process of the service. `url` is empty if it does not listen. */
export type Process = Part & { url: string };

/** Processes of several versions with one database and one Temporal. */
export type Fleet = {
  installation: Installation;
  databaseUrl: string;
  client: Client;
  environment: Record<string, string>;
  /** The command line of an operator, with the environment of the processes. */
  cli: Cli;
  /** Starts a process; the fleet stops it at its end. */
  start(place: Place): Promise<Process>;
  /** Starts an API, a task worker and a delivery worker; {@link Fleet.send} and others use the API. */
  startAll(place?: Partial<Omit<Place, 'kind'>>): Promise<[api: Process, worker: Process, delivery: Process]>;
  /** The same without starting it. */
  prepare(place: Place): Promise<Process>;
  send(process: Process, method: string, path: string, asked?: Asked): Promise<Answered>;
  /** Submits a simulated run. Returns its id. */
  submit(process: Process, fields?: Record<string, unknown>): Promise<string>;
  /** Pauses a run and waits until it is paused. */
  pause(process: Process, id: string): Promise<void>;
  continue(process: Process, id: string): Promise<void>;
  /** Creates a webhook for new issues. Returns its id. */
  createWebhook(process: Process, url: string, fields?: Record<string, unknown>): Promise<string>;
  /** Publishes an event about a new issue. */
  publish(process: Process, id: string): Promise<void>;
  /** Resolves when the run is in the state. */
  reaches(process: Process, id: string, state: string, withinMs?: number): Promise<void>;
  /** The number of open workflows of a version, by the command line. */
  openWorkflows(build: string): Promise<number>;
  /** Returns the version of a workflow in Temporal; null if it has none. */
  versionOf(workflowId: string): Promise<string | null>;
  /**
   * The same for a run that completes. Its state is `completed` a moment before Temporal records the end, and with it the
   * version.
   */
  endedOn(workflowId: string): Promise<string | null>;
  /** What the processes have logged, as one text. */
  logged(): string;
  /** Routes all new work to a version. */
  use(build: string): Promise<void>;
  close(): Promise<void>;
};

/** A separate database and Temporal, instead of those of the lane. */
export type BackingServices = { databaseUrl: string; temporalAddress: string; installation: Installation };

/** Registers a hook that closes all fleets after each test. Returns a function that starts one. */
export function useFleets(): typeof startFleet {
  const fleets: Fleet[] = [];
  afterEach(() => Promise.all(fleets.splice(0).map((fleet) => fleet.close())));
  return async (...given) => {
    const fleet = await startFleet(...given);
    fleets.push(fleet);
    return fleet;
  };
}

/** Starts a fleet without processes. The caller closes it. */
export async function startFleet(
  variables: Record<string, string> = {},
  backing: BackingServices | null = null,
): Promise<Fleet> {
  const fresh = backing === null ? await freshDatabase() : null;
  const databaseUrl = backing?.databaseUrl ?? fresh?.url ?? '';
  const folder = mkdtempSync(join(tmpdir(), 'baton-fleet-'));
  const installation = backing?.installation ?? (await setUpTestInstallation(databaseUrl));
  const temporalAddress = backing?.temporalAddress ?? services().temporalAddress;
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
          // Changes by a test take effect at the next start of a process.
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
    startAll: ({ build = null, ...place } = {}) =>
      Promise.all([
        fleet.start({ kind: 'api', build, ...place }),
        fleet.start({ kind: 'worker', build, ...place }),
        fleet.start({ kind: 'deliveryWorker', build, ...place }),
      ]),
    send: (process, method, path, asked = {}) =>
      send(`${process.url}${path}`, method, { headers: { 'X-API-Key': installation.api_key }, ...asked }),
    async submit(process, fields = {}) {
      const body = { title: 'A task', project_id: installation.project_id, ...fields };
      const { status, json, text } = await fleet.send(process, 'POST', '/api/v1/tasks', { body });
      assert.equal(status, 201, text);
      return json.execution_id;
    },
    async pause(process, id) {
      await steerRun(() => fleet.send(process, 'POST', `/api/v1/tasks/${id}/pause`, { body: {} }));
      await fleet.reaches(process, id, 'paused');
    },
    async continue(process, id) {
      await steerRun(() => fleet.send(process, 'POST', `/api/v1/tasks/${id}/continue`, { body: {} }));
    },
    async createWebhook(process, url, fields = {}) {
      const body = { name: 'Issues', url, events: [{ event: 'issue.created' }], ...fields };
      const { status, json, text } = await fleet.send(process, 'POST', '/api/v1/webhooks', { body });
      assert.equal(status, 201, text);
      return json.id;
    },
    async publish(process, id) {
      const body = { id, event: 'issue.created', data: { issue: { id, title: 'One' } } };
      assert.equal((await fleet.send(process, 'POST', '/api/v1/events', { body })).status, 202);
    },
    async reaches(process, id, state, withinMs = 60_000) {
      const look = async () => {
        const { json } = await fleet.send(process, 'GET', `/api/v1/tasks/${id}`);
        return json?.state === state;
      };
      await eventually(`${id} is ${state}`, look, withinMs);
    },
    async openWorkflows(build) {
      const { data } = await cli.json(['admin', 'versions']);
      return data.find((one: { build: string }) => one.build === build).open;
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
