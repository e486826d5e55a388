import { randomBytes, randomUUIDv7 } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Client } from '@temporalio/client';
import { Runtime, type NativeConnection } from '@temporalio/worker';
import { pino, type Logger } from 'pino';
import { readConfiguration, type Configuration } from '../../src/runtime/configuration.ts';
import { listCallbackAttempts } from '../../src/database/tasks/callbacks.ts';
import type { Database } from '../../src/database/database.ts';
import { listEventsAfter } from '../../src/database/tasks/feed.ts';
import { createWorkspace, type Installation } from '../../src/runtime/installation.ts';
import { findRun, insertRun, type TaskRunRow } from '../../src/database/tasks/task-runs.ts';
import type { Rehearsal } from '../../src/domain/tasks/rehearsal.ts';
import type { RunView } from '../../src/domain/tasks/run-schemas.ts';
import type { TaskType } from '../../src/domain/tasks/task-run.ts';
import type { TaskState } from '../../src/domain/tasks/task-states.ts';
import { callbackSecretContext, createSealing } from '../../src/security/sealing.ts';
import { createTaskControl, type TaskControl } from '../../src/temporal/task-control.ts';
import { startTaskWorker } from '../../workers/task-worker.ts';
import { connectTemporal, installRuntime } from '../../src/runtime/temporal.ts';
import { newRunRow } from './run-row.ts';
import { eventually } from './eventually.ts';
import { useFixture } from './fixture.ts';
import { freshInstallation } from './installation.ts';
import { services } from './services.ts';
import { settingsOn } from './settings.ts';
import { sharedInLane } from './shared.ts';

/** The submission of a test; `callbackUrl` requires `secret`. */
export type Submission = {
  title?: string;
  rehearsal?: Rehearsal;
  taskType?: TaskType;
  callbackUrl?: string;
  secret?: string;
};

/** Runs on real services, without the HTTP API: a database, a workspace, a worker in this process, Temporal. */
export type Runs = {
  database: Database;
  configuration: Configuration;
  installation: Installation;
  client: Client;
  connection: NativeConnection;
  control: TaskControl;
  /** Returns the log of the worker since these runs were opened, as one text. */
  logged(): string;
  /** Stores a submission, as the API does before it starts the workflow. */
  store(submission?: Submission): Promise<string>;
  submit(submission?: Submission): Promise<string>;
  row(id: string): Promise<TaskRunRow>;
  reaches(id: string, state: TaskState, withinMs?: number): Promise<TaskRunRow>;
  /** Waits until the run's row fulfils `is`. */
  becomes(what: string, id: string, is: (row: TaskRunRow) => boolean, withinMs?: number): Promise<TaskRunRow>;
  /** Returns the view of the workflow after all earlier signals. A query without a response is repeated. */
  view(id: string): Promise<RunView>;
  events(id: string): ReturnType<typeof listEventsAfter>;
  attempts(id: string): ReturnType<typeof listCallbackAttempts>;
  /** Waits until the run's workflow has ended, however it ended. */
  ends(id: string): Promise<void>;
  /** `between` runs while there is no worker. */
  restartWorker(between?: () => Promise<unknown>): Promise<void>;
  close(): Promise<void>;
};

export type RunsOptions = {
  /** The text of another catalogue. */
  agents?: string;
  /** Further variables of the configuration. */
  environment?: Record<string, string>;
};

type RunService = Pick<Runs, 'database' | 'configuration' | 'client' | 'connection' | 'control'> & {
  installation: Installation;
  lines: string[];
  /** `between` runs while there is no worker. */
  restartWorker(between?: () => Promise<unknown>): Promise<void>;
  close(): Promise<void>;
};

/** Installs the runtime of the SDK once in this process. It always logs to the first logger. */
export function useRuntime(log: Logger): void {
  if (Runtime._instance === undefined) installRuntime(log);
}

/** One worker for all tests of a lane without separate settings. */
const sharedRunService = sharedInLane(
  () => startRunService({}),
  (service) => service.close(),
);

/** Registers hooks that give the tests of a `describe` a separate workspace with the lane's worker. */
export function useRuns(): Runs {
  return useFixture(async () => {
    const service = await sharedRunService();
    const installation = await createWorkspace(service.database.em.fork(), {
      workspaceName: 'Test',
      projectName: 'Test',
      adminEmail: `admin-${randomBytes(4).toString('hex')}@example.com`,
    });
    return runsIn(service, installation, async () => {});
  });
}

/** Registers hooks that start a database and a worker for the tests of a `describe`, and close them. */
export function useOwnRuns(options: RunsOptions | (() => RunsOptions) = {}): Runs {
  return useFixture(() => startRuns(typeof options === 'function' ? options() : options));
}

/** Starts a database and a worker; the caller closes them. */
export async function startRuns(options: RunsOptions = {}): Promise<Runs> {
  const service = await startRunService(options);
  return runsIn(service, service.installation, service.close);
}

async function startRunService({ agents, environment }: RunsOptions): Promise<RunService> {
  const { url, database, installation, close } = await freshInstallation();
  const lines: string[] = [];
  const log = pino({ level: 'debug' }, { write: (line: string) => void lines.push(line) });
  const folder = mkdtempSync(join(tmpdir(), 'baton-runs-'));
  const agentsFile = join(folder, 'agents.yml');
  if (agents) writeFileSync(agentsFile, agents);
  process.env['TEMPORAL_ADDRESS'] = services().temporalAddress;
  useRuntime(log);
  const configuration = readConfiguration({
    ...settingsOn(url),
    ...(agents ? { AGENTS_FILE: agentsFile } : {}),
    ...environment,
  });
  const { client, connection } = await connectTemporal(configuration.payloadKeys);
  const control = createTaskControl({
    client,
    taskQueue: configuration.taskQueue,
    eagerStart: false,
    searchable: true,
  });
  let worker = await startTaskWorker(configuration, log);
  return {
    database,
    configuration,
    installation,
    client,
    connection,
    control,
    lines,
    async restartWorker(between) {
      await worker.close();
      await between?.();
      worker = await startTaskWorker(configuration, log);
    },
    async close() {
      await worker.close();
      await connection.close();
      await close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function runsIn(service: RunService, installation: Installation, close: () => Promise<void>): Runs {
  const { database, configuration, client, connection, control, lines, restartWorker } = service;
  const firstLine = lines.length;
  const sealing = createSealing(configuration.sealingKeys);
  const runs: Runs = {
    database,
    configuration,
    installation,
    client,
    connection,
    control,
    restartWorker,
    close,
    logged: () => lines.slice(firstLine).join(''),
    async store({
      title = 'A test',
      rehearsal,
      taskType = 'feature',
      callbackUrl,
      secret = 'secret',
    }: Submission = {}) {
      const id = randomUUIDv7();
      const run = newRunRow(installation, {
        id,
        title,
        task_type: taskType,
        metadata: JSON.stringify(rehearsal ? { rehearsal } : {}),
        callback_url: callbackUrl ?? null,
        callback_secret: sealing.seal(secret, callbackSecretContext(id)),
      });
      await insertRun(database, run);
      return id;
    },
    async submit(submission = {}) {
      const id = await runs.store(submission);
      const row = await runs.row(id);
      await control.start({
        id,
        workspaceId: row.workspace_id,
        projectId: row.project_id,
        title: row.title,
        taskType: row.task_type,
        rehearsal: submission.rehearsal ?? null,
        hasCallback: submission.callbackUrl !== undefined,
        createdAt: row.created_at,
      });
      return id;
    },
    async row(id) {
      const row = await findRun(database, id);
      if (!row) throw new Error(`no run ${id}`);
      return row;
    },
    becomes: (what, id, is, withinMs) =>
      eventually(
        what,
        async () => {
          const row = await runs.row(id);
          return is(row) && row;
        },
        withinMs,
      ),
    reaches: (id, state, withinMs) =>
      runs.becomes(`${id} is ${state}`, id, (row) => row.state === state, withinMs),
    view: (id) => eventually(`${id} responds`, () => control.view(id)),
    events: (id) => listEventsAfter(database, id, 0, 10_000),
    attempts: (id) => listCallbackAttempts(database, id),
    async ends(id) {
      await client.workflow
        .getHandle(id)
        .result()
        .catch(() => {});
    },
  };
  return runs;
}
