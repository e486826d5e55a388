import type { Notifications } from '../database/common/notifications.ts';
import type { ChannelCode } from '../domain/channel/channel.ts';
import type { Admission } from './admission.ts';
import type { Connection } from './connection.ts';
import type { MetricsRecorder } from './metrics.ts';
import { Session, type SessionDependencies } from './session.ts';

type Admitted = Extract<Admission, { ok: true }>;

/** All clients of this process, of any transport. */
export type Clients = {
  admit(token: string | null): Promise<Admission>;
  enter(connection: Connection, admitted: Admitted): Session;
  leave(session: Session): void;
  /** Closes all connections with a code. */
  closeAll(code: ChannelCode): void;
};

/** Manages the sessions, and closes those whose key, session or membership has ended. */
export function createClients(
  deps: SessionDependencies,
  { notifications, metrics }: { notifications: Notifications; metrics: MetricsRecorder },
): Clients {
  const sessions = new Set<Session>();
  const unsubscribe = notifications.subscribe('credentials', null, (id, rest) => {
    // Null means that notifications were lost, so any credential may have ended.
    void recheck(rest === null ? [...sessions] : [...sessions].filter((session) => session.dependsOn(id)));
  });

  /** One after another, so that many sessions do not delay the reading of feeds. */
  async function recheck(sessionsToCheck: readonly Session[]): Promise<void> {
    for (const session of sessionsToCheck) {
      try {
        await session.recheck();
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
