import { randomBytes } from 'node:crypto';
import { Runtime } from '@temporalio/worker';
import { pino } from 'pino';
import { bootstrap, type ApiProcess } from '../../src/api/server.ts';
import { bodyText } from '../../src/api/http/json-text.ts';
import type { RouteResponse, Route } from '../../src/api/http/route.ts';
import { readConfiguration, type Configuration } from '../../src/runtime/configuration.ts';
import type { Database } from '../../src/database/database.ts';
import { connectDatabase } from '../../src/database/connect.ts';
import { createWorkspace, setUpInstallation, type Installation } from '../../src/runtime/installation.ts';
import { deliveryWork } from '../../workers/delivery-worker.ts';
import { taskWork } from '../../workers/task-worker.ts';
import { checkSealedSecrets } from '../../src/runtime/sealed-secrets.ts';
import { NO_TELEMETRY } from '../../src/runtime/telemetry.ts';
import { installRuntime } from '../../src/runtime/temporal.ts';
import { startWorkerProcess } from '../../src/runtime/worker-process.ts';
import { eventually } from './eventually.ts';
import { SHARED_RINGS } from './rings.ts';
import { sharedSealing } from './run-row.ts';
import { freshDatabase, services, type FreshDatabase } from './services.ts';
import { settingsOn } from './settings.ts';
import { sharedInLane } from './shared.ts';

export const PASSWORD = 'a good long password';

/** A received response. `json` is the parsed body, loosely typed on purpose. */
export type Received = {
  status: number;
  headers: Headers;
  text: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests read answers of every shape
  json: any;
};

export type Sent = {
  key?: string | null;
  token?: string;
  cookie?: string;
  /** Sent as JSON; `raw` is sent unchanged. */
  body?: unknown;
  raw?: string | Uint8Array<ArrayBuffer> | ReadableStream;
  headers?: Record<string, string>;
};

/** A test environment: the API over real HTTP, with a workspace, its project, its owner and a key. */
export type World = {
  api: ApiProcess;
  configuration: Configuration;
  database: Database;
  installation: Installation;
  /** Returns the log of the service since this world was opened. */
  logged(): string;
  send(method: string, path: string, sent?: Sent): Promise<Received>;
  /** Submits a task of the workspace's project. */
  submit(fields?: Record<string, unknown>, sent?: Sent): Promise<Received>;
  /** Polls until the run is in the state. */
  reaches(id: string, state: string): Promise<Received>;
  /** Signs in, as the owner by default. Returns the cookie. */
  signIn(email?: string, password?: string): Promise<string>;
  /** Returns the options of a request of a signed-in person, with the service's Origin. */
  as(cookie: string): Sent;
  close(): Promise<void>;
};

/** The options of a separate world. */
export type WorldOptions = {
  environment?: Record<string, string>;
  /** False starts no task worker. */
  worker?: boolean;
  /** True starts a delivery worker. */
  deliveryWorker?: boolean;
  /** For tests that stop the database or Temporal. */
  database?: FreshDatabase;
  temporalAddress?: string;
};

type Service = Pick<World, 'api' | 'configuration' | 'database'> & {
  url: string;
  lines: string[];
  /** Responses that differ from the declarations of their routes. */
  undeclared: string[];
  close(): Promise<void>;
};

/**
 * One service for all tests of a lane without separate settings, with every worker, a Temporal Web UI and no rate limit on
 * sign-ins.
 */
const sharedService = sharedInLane(
  async () => {
    const service = await startProcesses({
      deliveryWorker: true,
      environment: {
        ...SHARED_RINGS,
        SIGN_INS_PER_MINUTE: '1000000',
        TEMPORAL_UI_URL: `${services().temporalUiUrl}/`,
      },
    });
    await setUpInstallation(service.url, ownerOf('nobody@example.com'));
    return service;
  },
  (service) => service.close(),
);

/**
 * Registers hooks that give the tests of a `describe` a separate workspace in the lane's service, which has an API, a task
 * worker and a delivery worker. The returned world is usable from the first `before` that follows.
 */
export function useWorld(): World {
  return heldBetweenHooks(async () => {
    const service = await sharedService();
    const email = `owner-${randomBytes(4).toString('hex')}@example.com`;
    const installation = await createWorkspace(service.database.em.fork(), ownerOf(email));
    return worldIn(service, installation, async () => {
      await endWorkspace(service.database, installation.workspace_id);
      // The next test that starts a service on this database could not open secrets that this one left.
      await checkSealedSecrets(service.database, sharedSealing);
    });
  });
}

/**
 * Registers hooks that start a separate service for the tests of a `describe`, and close it. A function can prepare the
 * options.
 */
export function useOwnWorld(
  options: WorldOptions | (() => WorldOptions | Promise<WorldOptions>) = {},
): World {
  return heldBetweenHooks(async () => startWorld(typeof options === 'function' ? await options() : options));
}

function heldBetweenHooks(open: () => Promise<World>): World {
  const held = {} as World;
  before('create the test workspace', async function () {
    Object.assign(held, await open());
    // `afterAll` is added here, so it runs after the hooks of the tests, which may still need the world.
    this.test?.parent?.afterAll('close the test workspace', () => held.close());
  });
  return held;
}

/** Starts a separate service with an installation. The caller closes it. */
export async function startWorld(options: WorldOptions = {}): Promise<World> {
  const service = await startProcesses(options);
  const installation = await setUpInstallation(service.url, ownerOf('owner@example.com'));
  return worldIn(service, installation, service.close);
}

function ownerOf(adminEmail: string) {
  return { workspaceName: 'Test', projectName: 'First', adminEmail, adminPassword: PASSWORD };
}

async function startProcesses(options: WorldOptions): Promise<Service> {
  const fresh = options.database ?? (await freshDatabase());
  const lines: string[] = [];
  const log = pino({ level: 'debug' }, { write: (line: string) => void lines.push(line) });
  process.env['TEMPORAL_ADDRESS'] = options.temporalAddress ?? services().temporalAddress;
  // oxlint-disable-next-line no-underscore-dangle -- the only way to ask whether there is one
  if (Runtime._instance === undefined) installRuntime(log);
  const configuration = readConfiguration({ PORT: '0', ...settingsOn(fresh.url), ...options.environment });
  const database = await connectDatabase(fresh.url);
  const undeclared: string[] = [];
  const api = await bootstrap(configuration, log, {
    onResponse: (route, answer) => undeclared.push(...findUndeclared(route, answer)),
  });
  const work = [
    ...(options.worker === false ? [] : [taskWork(configuration)]),
    ...(options.deliveryWorker ? [deliveryWork()] : []),
  ];
  const common = { configuration, log, telemetry: NO_TELEMETRY };
  const workers = work.length === 0 ? null : await startWorkerProcess(work, common);
  return {
    url: fresh.url,
    api,
    configuration,
    database,
    lines,
    undeclared,
    async close() {
      await api.close();
      await workers?.close();
      await database.close();
      await fresh.drop();
    },
  };
}

function worldIn(
  { api, configuration, database, lines, undeclared }: Service,
  installation: Installation,
  close: () => Promise<void>,
): World {
  const firstLine = lines.length;
  const world: World = {
    api,
    configuration,
    database,
    installation,
    close,
    logged: () => lines.slice(firstLine).join(''),
    async send(method, path, sent = {}) {
      const { body, raw } = sent;
      const response = await fetch(`${api.url}${path}`, {
        method,
        redirect: 'manual',
        headers: headersOf(sent, installation.api_key),
        ...(raw !== undefined ? { body: raw } : body !== undefined ? { body: JSON.stringify(body) } : {}),
      });
      const text = await response.text();
      const isJson = (response.headers.get('content-type') ?? '').includes('json');
      const received = {
        status: response.status,
        headers: response.headers,
        text,
        json: isJson && text !== '' ? JSON.parse(text) : null,
      };
      if (undeclared.length > 0)
        throw new Error(`a response differs from its declaration: ${undeclared.splice(0).join('; ')}`);
      return received;
    },
    submit: (fields = {}, sent = {}) =>
      world.send('POST', '/api/v1/tasks', {
        body: { title: 'A task', project_id: installation.project_id, ...fields },
        ...sent,
      }),
    async reaches(id, state) {
      return await eventually(`${id} is ${state}`, async () => {
        const received = await world.send('GET', `/api/v1/tasks/${id}`);
        return received.json.state === state && received;
      });
    },
    async signIn(email = installation.admin_email, password = PASSWORD) {
      const received = await world.send('POST', '/api/v1/session', { key: null, body: { email, password } });
      const cookie = received.headers.get('set-cookie')?.split(';')[0];
      if (!cookie) throw new Error(`not signed in: ${received.text}`);
      return cookie;
    },
    as: (cookie) => ({ key: null, cookie, headers: { Origin: api.url } }),
  };
  return world;
}

function headersOf({ key, token, cookie, body, headers }: Sent, ownKey: string): Record<string, string> {
  const credential = cookie
    ? { Cookie: cookie }
    : token
      ? { Authorization: `Bearer ${token}` }
      : key === null
        ? {}
        : { 'X-API-Key': key ?? ownKey };
  const content = body === undefined ? {} : { 'Content-Type': 'application/json' };
  return { ...content, ...credential, ...headers };
}

/** Returns the differences between a response and the declaration of its route. */
function findUndeclared(route: Route, answer: RouteResponse): string[] {
  const declared = route.responses[answer.status];
  if (!declared) return [`${route.operationId} does not declare ${answer.status}`];
  if (answer.stream || !declared.schema) return [];
  const checked = declared.schema.safeParse(JSON.parse(bodyText(answer.body)));
  return checked.success ? [] : [`${route.operationId} ${answer.status}: ${checked.error.message}`];
}

/** Deactivates the webhooks of a workspace after its tests, because another test may get the port of its receiver. */
export async function endWorkspace(database: Database, workspaceId: string): Promise<void> {
  await database.em
    .fork()
    .execute('update webhooks set active = false, deleted_at = now() where workspace_id = ?', [workspaceId]);
}
