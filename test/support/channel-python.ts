import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { inCheckout } from '../../dev/common/paths.ts';
import type { FeedEvent } from '../../src/domain/tasks/feed-events.ts';
import {
  beginFollowing,
  inTime,
  joinMessage,
  type FollowingBuilder,
  type ChannelClient,
  type Joined,
} from './following.ts';
import { pythonWithClients } from './python.ts';

/** A line of the script: it is ready, or an event of the connection `id`. */
type Report = {
  id?: number;
  joined?: Joined;
  event?: FeedEvent;
  refused?: string;
  failed?: string;
  ended?: string | null;
};

const STARTS_WITHIN_MS = 60_000;

/** Starts python-socketio in a process for all its connections. `close` ends it. */
export async function startPythonClient(
  name = 'python-socketio, polling, then websocket',
  transports: readonly string[] | null = null,
): Promise<ChannelClient & { close(): Promise<void> }> {
  const script = inCheckout('test', 'support', 'channel-follower.py');
  const child = spawn(await pythonWithClients(), ['-u', script], { stdio: ['pipe', 'pipe', 'inherit'] });
  const connections = new Map<number, FollowingBuilder>();
  const ready = Promise.withResolvers<void>();
  child.once('exit', (code) => {
    ready.reject(new Error(`the Python client ended with ${code}`));
    for (const connection of connections.values()) connection.ended(null);
  });
  createInterface({ input: child.stdout }).on('line', (line) => {
    const report = JSON.parse(line) as Report;
    if (report.id === undefined) ready.resolve();
    else dispatch(report, connections.get(report.id));
  });
  const send = (command: object) => child.stdin.write(`${JSON.stringify(command)}\n`);
  await inTime('starting the Python client', ready.promise, STARTS_WITHIN_MS);
  let last = 0;

  return {
    name,
    async follow(url, token, executionId, { after, onEvent } = {}) {
      const id = ++last;
      // Python handles the response in a separate task, so it may report an event before it.
      const connection = beginFollowing(onEvent, false);
      connections.set(id, connection);
      send({ do: 'follow', id, url, token, request: joinMessage(executionId, after), transports });
      return await connection.follow(name, () => {
        connections.delete(id);
        connection.ended(null);
        if (child.exitCode === null) send({ do: 'disconnect', id });
      });
    },
    async close() {
      child.stdin.end();
      if (child.exitCode === null) await once(child, 'exit');
    },
  };
}

function dispatch(report: Report, connection: FollowingBuilder | undefined): void {
  if (report.event) connection?.event(report.event);
  if (report.joined) connection?.joined(report.joined);
  if (report.refused !== undefined) connection?.refused(report.refused);
  if (report.failed !== undefined) connection?.failed(report.failed);
  if (report.ended !== undefined) connection?.ended(report.ended);
}
