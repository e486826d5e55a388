import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Database } from '../database/database.ts';
import { checkReadiness, type DependencyStatus } from '../database/common/readiness.ts';
import type { Notifications } from '../database/common/notifications.ts';
import type { TaskControl } from '../temporal/task-control.ts';
import type { Channel } from './channel.ts';

/** The readiness of a gateway, with its checks. */
type Readiness = { status: 'ready' | 'not_ready'; checks: Record<'postgres' | 'temporal', DependencyStatus> };

type Dependencies = {
  database: Database;
  notifications: Notifications;
  control: TaskControl;
  channel: Channel;
};

/**
 * Creates the handler of `/health/live`, `/health/ready` and `/health/channel` of a gateway, with the same bodies as
 * the API, and the readiness check.
 */
export function createHealthHandler({ database, notifications, control, channel }: Dependencies) {
  async function readiness(): Promise<Readiness> {
    const { postgres, temporal } = await checkReadiness(database, control.ready);
    const postgresCheck = notifications.isConnected()
      ? postgres
      : { status: 'failing' as const, reason: 'Cannot listen to PostgreSQL.' };
    // Temporal does not count: without it, the stored state is shown.
    const isReady = postgresCheck.status === 'ok';
    return { status: isReady ? 'ready' : 'not_ready', checks: { postgres: postgresCheck, temporal } };
  }

  async function handle({ method, url = '' }: IncomingMessage, response: ServerResponse): Promise<void> {
    const [path] = url.split('?', 1);
    if (method !== 'GET' && method !== 'HEAD')
      return send(response, 405, { status: 405, code: 'method_not_allowed' });
    if (path === '/health/live') return send(response, 200, { status: 'live' });
    if (path === '/health/channel') return send(response, 200, channel.statistics());
    if (path !== '/health/ready') return send(response, 404, { status: 404, code: 'not_found' });
    const body = await readiness();
    send(response, body.status === 'ready' ? 200 : 503, body);
  }

  return { answer: handle, readiness };
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'Content-Type': 'application/json' });
  response.end(JSON.stringify(body));
}
