import type { Notifications } from '../database/common/notifications.ts';
import type { ChannelCode } from '../domain/channel/channel.ts';
import type { Admission } from './admission.ts';
import type { Connection } from './connection.ts';
import type { MetricsRecorder } from './metrics.ts';
import { Session, type SessionDependencies } from './session.ts';

type Admitted = Extract<Admission, { ok: true }>;

/** All who are connected to this process, in whichever way they speak. */
export type Clients = {
  admit(token: string | null): Promise<Admission>;
  enter(connection: Connection, admitted: Admitted): Session;
  leave(session: Session): void;
  /** Ends all connections, with the reason. */
  closeAll(code: ChannelCode): void;
};

/** Keeps the sessions, and ends those of keys that are used no more. */
export function createClients(
  deps: SessionDependencies,
  { notifications, metrics }: { notifications: Notifications; metrics: MetricsRecorder },
): Clients {
  const sessions = new Set<Session>();
  const unsubscribe = notifications.subscribe('keys', null, (id, rest) => {
    // Without a rest the connection was lost, and any key may have been revoked.
    void recheck(rest === null ? [...sessions] : [...sessions].filter(({ actor }) => actor === `key:${id}`));
  });

  /** One after another: however many there are, feeds are read meanwhile. */
  async function recheck(sessionsToCheck: readonly Session[]): Promise<void> {
    for (const session of sessionsToCheck) {
      try {
        await session.recheck();
      } catch (error) {
        deps.log.warn({ err: error }, 'rechecking a key failed');
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
          // Its messages may keep coming until the client has heard of it.
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
      const session = new Session(deps, counted, admitted);
      sessions.add(session);
      metrics.connected(1);
      return session;
    },
    leave(session) {
      if (!sessions.delete(session)) return;
      metrics.connected(-1);
      session.closed();
    },
    closeAll(code) {
      unsubscribe();
      for (const session of sessions) session.connection.close(code);
    },
  };
}
