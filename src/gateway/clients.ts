import type { Notifications } from '../database/common/notifications.ts';
import type { ChannelCode } from '../domain/channel/channel.ts';
import type { Admission } from './admission.ts';
import type { Connection } from './connection.ts';
import type { MetricsRecorder } from './metrics.ts';
import { ConnectedClient, type ClientDependencies } from './connected-client.ts';

type Admitted = Extract<Admission, { ok: true }>;

/** All clients of this process, of any transport. */
export type Clients = {
  admit(token: string | null): Promise<Admission>;
  enter(connection: Connection, admitted: Admitted): ConnectedClient;
  leave(client: ConnectedClient): void;
  /** Closes all connections with a code. */
  closeAll(code: ChannelCode): void;
};

type ClientsDependencies = {
  notifications: Notifications;
  metrics: MetricsRecorder;
  /** How long after a failed check the credentials are checked again, in milliseconds. */
  recheckMs?: number;
};
const RECHECK_MS = 5_000;

/** Manages the clients, and closes those whose key, session or membership has ended. */
export function createClients(
  deps: ClientDependencies,
  { notifications, metrics, recheckMs = RECHECK_MS }: ClientsDependencies,
): Clients {
  const clients = new Set<ConnectedClient>();
  const unsubscribe = notifications.subscribe('credentials', null, (id, rest) => {
    // Null means that notifications were lost, so any credential may have ended.
    void recheck(rest === null ? [...clients] : [...clients].filter((client) => client.dependsOn(id)));
  });

  /** Clients whose check failed. They are checked again until it succeeds. */
  const unchecked = new Set<ConnectedClient>();
  /** Connections that have ended, also while the connection still has to send something. */
  const ended = new WeakSet<Connection>();
  let repetition: NodeJS.Timeout | null = null;

  /** One after another, so that many clients do not delay the reading of feeds. */
  async function recheck(toCheck: readonly ConnectedClient[]): Promise<void> {
    for (const client of toCheck) unchecked.add(client);
    try {
      for (const client of toCheck) {
        await client.recheck();
        unchecked.delete(client);
      }
    } catch (error) {
      deps.log.warn({ err: error }, 'rechecking credentials failed; will retry');
      repetition ??= setTimeout(() => {
        repetition = null;
        void recheck([...unchecked]);
      }, recheckMs).unref();
    }
  }

  return {
    async admit(token) {
      const admission = await deps.admission.admit(token);
      if (!admission.ok) metrics.dropped(admission.code);
      return admission;
    },
    enter(connection, admitted) {
      let isEnding = false;
      const counted: Connection = {
        ...connection,
        close(code) {
          // Messages can still arrive until the client knows that it is closed.
          if (isEnding || ended.has(counted)) return;
          isEnding = true;
          metrics.dropped(code);
          deps.log.info(
            { connection: connection.id, actor: admitted.holder.label, code },
            'channel connection closed by the service',
          );
          connection.close(code);
        },
      };
      const client = new ConnectedClient(deps, counted, admitted);
      clients.add(client);
      metrics.connected(1);
      return client;
    },
    leave(client) {
      if (!clients.delete(client)) return;
      metrics.connected(-1);
      unchecked.delete(client);
      ended.add(client.connection);
      client.closed();
    },
    closeAll(code) {
      unsubscribe();
      if (repetition !== null) clearTimeout(repetition);
      for (const client of clients) client.connection.close(code);
    },
  };
}
