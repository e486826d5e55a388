import { randomUUIDv7 } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Client } from '@temporalio/client';
import { Runtime, type NativeConnection } from '@temporalio/worker';
import { pino, type Logger } from 'pino';
import { readConfiguration, type Configuration } from '../../src/configuration.ts';
import { callbackAttempts } from '../../src/database/callbacks.ts';
import type { Database } from '../../src/database/connect.ts';
import { eventsAfter } from '../../src/database/feed.ts';
import type { Installation } from '../../src/installation.ts';
import { findRun, insertRun, type TaskRunRow } from '../../src/database/task-runs.ts';
import type { Rehearsal } from '../../src/domain/rehearsal.ts';
import type { TaskType } from '../../src/domain/task-run.ts';
import type { TaskState } from '../../src/domain/task-states.ts';
import { callbackSecretPlace, createSealing } from '../../src/security/sealing.ts';
import { createTaskControl, type TaskControl } from '../../src/workflows/control.ts';
import { startTaskWorker, type TaskWorker } from '../../workers/task-worker.ts';
import { connectTemporal, installRuntime } from '../../workers/temporal.ts';
import { eventually } from './eventually.ts';
import { freshInstallation } from './installation.ts';
import { services } from './services.ts';
import { settingsOn } from './settings.ts';

/** What a test submits; `callbackUrl` goes with `secret`. */
export type Submission = {
  title?: string;
  rehearsal?: Rehearsal;
  taskType?: TaskType;
  callbackUrl?: string;
  secret?: string;
};

/** Runs on real services, without the HTTP API: a database of its own, a worker in this process, the engine. */
export type Runs = {
  database: Database;
  configuration: Configuration;
  installation: Installation;
  client: Client;
  connection: NativeConnection;
  control: TaskControl;
  worker: TaskWorker;
  /** What the processes of this world have logged, as one text. */
  logged(): string;
  /** Stores a submission, as the API does before it starts the workflow. */
  store(submission?: Submission): Promise<string>;
  submit(submission?: Submission): Promise<string>;
  row(id: string): Promise<TaskRunRow>;
  reaches(id: string, state: TaskState, withinMs?: number): Promise<TaskRunRow>;
  events(id: string): ReturnType<typeof eventsAfter>;
  attempts(id: string): ReturnType<typeof callbackAttempts>;
  restartWorker(): Promise<void>;
  close(): Promise<void>;
};

/** Installs the SDK's runtime once for the whole test run; what it says later goes where the first one said. */
export function useRuntime(log: Logger): void {
  if (Runtime._instance === undefined) installRuntime(log);
}

/** `agents`: the text of another catalogue; `environment`: further variables of the configuration. */
export async function startRuns(
  options: { agents?: string; environment?: Record<string, string> } = {},
): Promise<Runs> {
  const { url, database, installation, close } = await freshInstallation();
  const lines: string[] = [];
  const log = pino({ level: 'debug' }, { write: (line: string) => void lines.push(line) });
  const folder = mkdtempSync(join(tmpdir(), 'baton-runs-'));
  const agentsFile = join(folder, 'agents.yml');
  if (options.agents) writeFileSync(agentsFile, options.agents);
  process.env['TEMPORAL_ADDRESS'] = services().temporalAddress;
  useRuntime(log);
  const configuration = readConfiguration({
    ...settingsOn(url),
    ...(options.agents ? { AGENTS_FILE: agentsFile } : {}),
    ...options.environment,
  });
  const { client, connection } = await connectTemporal(configuration.payloadKeys);
  const control = createTaskControl({
    client,
    taskQueue: configuration.taskQueue,
    eagerStart: false,
    searchable: true,
  });
  const sealing = createSealing(configuration.sealingKeys);

  const runs: Runs = {
    database,
    configuration,
    installation,
    client,
    connection,
    control,
    worker: await startTaskWorker(configuration, log),
    logged: () => lines.join(''),
    async store({
      title = 'A test',
      rehearsal,
      taskType = 'feature',
      callbackUrl,
      secret = 'secret',
    }: Submission = {}) {
      const id = randomUUIDv7();
      await insertRun(database, {
        id,
        workspace_id: installation.workspace_id,
        project_id: installation.project_id,
        created_by: 'key:test',
        title,
        description: null,
        task_type: taskType,
        metadata: rehearsal ? { rehearsal } : {},
        callback_url: callbackUrl ?? null,
        callback_secret: sealing.seal(secret, callbackSecretPlace(id)),
        created_at: new Date(),
      });
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
    reaches: (id, state, withinMs) =>
      eventually(
        `${id} is ${state}`,
        async () => {
          const row = await runs.row(id);
          return row.state === state && row;
        },
        withinMs,
      ),
    events: (id) => eventsAfter(database, id, 0, 10_000),
    attempts: (id) => callbackAttempts(database, id),
    async restartWorker() {
      await runs.worker.close();
      runs.worker = await startTaskWorker(configuration, log);
    },
    async close() {
      await runs.worker.close();
      await connection.close();
      await close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  return runs;
}
