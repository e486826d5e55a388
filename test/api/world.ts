import { setTimeout as wait } from 'node:timers/promises';
import { Runtime } from '@temporalio/worker';
import { pino } from 'pino';
import { bootstrap, type ApiProcess } from '../../src/api/server.ts';
import type { Answer, Route } from '../../src/api/http/route.ts';
import { readConfiguration, type Configuration } from '../../src/configuration.ts';
import { connectDatabase, type Database } from '../../src/database/connect.ts';
import { setUpInstallation, type Installation } from '../../src/installation.ts';
import { startDeliveryWorker } from '../../workers/delivery-worker.ts';
import { startTaskWorker } from '../../workers/task-worker.ts';
import { installRuntime } from '../../workers/temporal.ts';
import { freshDatabase, services, type FreshDatabase } from '../support/services.ts';
import { settingsOn } from '../support/settings.ts';

export const PASSWORD = 'a good long password';

/** An answer as a test looks at it; `json` is the parsed body, loosely typed on purpose. */
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
  /** Sent as JSON; `raw` goes as it is. */
  body?: unknown;
  raw?: string | Uint8Array<ArrayBuffer> | ReadableStream;
  headers?: Record<string, string>;
};

/**
 * The API over real HTTP with a database, a task worker and an engine. `worker: false` leaves the task worker out,
 * `deliveryWorker: true` brings one;
 * `database` and `temporalAddress` are for tests that take theirs away.
 */
export type World = {
  api: ApiProcess;
  configuration: Configuration;
  database: Database;
  installation: Installation;
  logged(): string;
  send(method: string, path: string, sent?: Sent): Promise<Received>;
  /** A submission of the installation's project, with the rehearsal given. */
  submit(members?: Record<string, unknown>, sent?: Sent): Promise<Received>;
  /** Polls until the run is in the state. */
  reaches(id: string, state: string): Promise<Received>;
  /** Signs in and answers the cookie. */
  signIn(email?: string, password?: string): Promise<string>;
  /** As a signed-in person, with our Origin. */
  as(cookie: string): Sent;
  close(): Promise<void>;
};

export async function startWorld(
  options: {
    environment?: Record<string, string>;
    worker?: boolean;
    deliveryWorker?: boolean;
    database?: FreshDatabase;
    temporalAddress?: string;
  } = {},
): Promise<World> {
  const fresh = options.database ?? (await freshDatabase());
  const lines: string[] = [];
  const log = pino({ level: 'debug' }, { write: (line: string) => void lines.push(line) });
  process.env['TEMPORAL_ADDRESS'] = options.temporalAddress ?? services().temporalAddress;
  // oxlint-disable-next-line no-underscore-dangle -- the only way to ask whether there is one
  if (Runtime._instance === undefined) installRuntime(log);
  const configuration = readConfiguration({
    PORT: '0',
    ...settingsOn(fresh.url),
    ...options.environment,
  });
  const installation = await setUpInstallation(fresh.url, {
    workspaceName: 'Test',
    projectName: 'First',
    adminEmail: 'owner@example.com',
    adminPassword: PASSWORD,
  });
  const database = await connectDatabase(fresh.url);
  const strays: string[] = [];
  const api = await bootstrap(configuration, log, {
    onAnswer: (route, answer) => strays.push(...strayOf(route, answer)),
  });
  const worker = options.worker === false ? null : await startTaskWorker(configuration, log);
  const deliveryWorker = options.deliveryWorker ? await startDeliveryWorker(configuration, log) : null;

  const world: World = {
    api,
    configuration,
    database,
    installation,
    logged: () => lines.join(''),
    async send(method, path, { key = installation.api_key, token, cookie, body, raw, headers = {} } = {}) {
      const credential = cookie
        ? { Cookie: cookie }
        : token
          ? { Authorization: `Bearer ${token}` }
          : key
            ? { 'X-API-Key': key }
            : {};
      const content = body === undefined ? {} : { 'Content-Type': 'application/json' };
      const response = await fetch(`${api.url}${path}`, {
        method,
        redirect: 'manual',
        headers: { ...content, ...credential, ...headers } as Record<string, string>,
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
      if (strays.length > 0) throw new Error(`an answer is not as declared: ${strays.splice(0).join('; ')}`);
      return received;
    },
    submit: (members = {}, sent = {}) =>
      world.send('POST', '/api/v1/tasks', {
        body: { title: 'A task', project_id: installation.project_id, ...members },
        ...sent,
      }),
    async reaches(id, state) {
      for (const until = Date.now() + 10_000; ; ) {
        const received = await world.send('GET', `/api/v1/tasks/${id}`);
        if (received.json.state === state) return received;
        await wait(20);
        if (Date.now() > until) throw new Error(`${id} is ${received.json.state}, not ${state}`);
      }
    },
    async signIn(email = 'owner@example.com', password = PASSWORD) {
      const received = await world.send('POST', '/api/v1/session', { key: null, body: { email, password } });
      const cookie = received.headers.get('set-cookie')?.split(';')[0];
      if (!cookie) throw new Error(`not signed in: ${received.text}`);
      return cookie;
    },
    as: (cookie) => ({ key: null, cookie, headers: { Origin: api.url } }),
    async close() {
      await api.close();
      await worker?.close();
      await deliveryWorker?.close();
      await database.close();
      await fresh.drop();
    },
  };
  return world;
}

/** What is wrong with an answer when it is held against its route's declaration. */
function strayOf(route: Route, answer: Answer): string[] {
  const declared = route.answers[answer.status];
  if (!declared) return [`${route.operationId} does not declare ${answer.status}`];
  if (answer.stream || !declared.schema) return [];
  const checked = declared.schema.safeParse(JSON.parse(JSON.stringify(answer.body)));
  return checked.success ? [] : [`${route.operationId} ${answer.status}: ${checked.error.message}`];
}
