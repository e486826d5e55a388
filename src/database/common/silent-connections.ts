import type { Socket } from 'node:net';
import type { PoolClient } from 'pg';

/** How often a connection is checked in its limit. */
const CHECKS = 5;

/** What the driver knows about a connection. The time limit may come from the URL. */
type Connected = {
  connection: { stream: Socket };
  connectionParameters: { statement_timeout?: number | string | false };
  readyForQuery: boolean;
};

/**
 * Breaks a connection whose server has sent nothing for longer than the time limit of statements, by `moreMs` milliseconds,
 * although a statement waits for it. PostgreSQL ends a statement at its time limit, so the server has vanished without a message:
 * it lost its power, or a failover has moved its address. Otherwise the statement would wait for a quarter of an hour, or without
 * end. The statement fails like one whose connection the server has closed.
 */
export function breakIfSilent(client: PoolClient, moreMs: number): void {
  const connected = client as unknown as Connected;
  const { stream } = connected.connection;
  const limitMs = Number(connected.connectionParameters.statement_timeout);
  if (!(limitMs > 0)) return;
  let silentChecks = 0;
  let received = 0;
  const check = setInterval(
    () => {
      const isSilent = !connected.readyForQuery && stream.bytesRead === received;
      received = stream.bytesRead;
      silentChecks = isSilent ? silentChecks + 1 : 0;
      // The statement may have begun just before the first of them.
      if (silentChecks > CHECKS) stream.destroy();
    },
    (limitMs + moreMs) / CHECKS,
  ).unref();
  client.on('end', () => clearInterval(check));
}
