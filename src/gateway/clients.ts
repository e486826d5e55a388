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

/** Manages the clients, and closes those whose key, session or membership has ended. */
export function createClients(
  deps: ClientDependencies,
  { notifications, metrics }: { notifications: Notifications; metrics: MetricsRecorder },
): Clients {
  const clients = new Set<ConnectedClient>();
  const unsubscribe = notifications.subscribe('credentials', null, (id, rest) => {
    // Null means that notifications were lost, so any credential may have ended.
    void recheck(rest === null ? [...clients] : [...clients].filter((client) => client.dependsOn(id)));
  });

  /** One after another, so that many clients do not delay the reading of feeds. */
  async function recheck(toCheck: readonly ConnectedClient[]): Promise<void> {
    for (const client of toCheck) {
      try {
        await client.recheck();
      } catch (error) {
        deps.log.warn({ err: error }, 'rechecking a credential failed');
      }
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
          if (isEnding) return;
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
      client.closed();
    },
    closeAll(code) {
      unsubscribe();
      for (const client of clients) client.connection.close(code);
    },
  };
}
