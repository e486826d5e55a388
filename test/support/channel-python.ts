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

/** A line of the script: it is ready, or something of the connection `id`. */
type Told = {
  id?: number;
  joined?: Joined;
  event?: FeedEvent;
  refused?: string;
  failed?: string;
  ended?: string | null;
};

const STARTS_WITHIN_MS = 60_000;

/** Python's Socket.IO client, all its connections in one process. `close` ends it. */
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
    const told = JSON.parse(line) as Told;
    if (told.id === undefined) ready.resolve();
    else pass(told, connections.get(told.id));
  });
  const say = (words: object) => child.stdin.write(`${JSON.stringify(words)}\n`);
  await inTime('starting the Python client', ready.promise, STARTS_WITHIN_MS);
  let last = 0;

  return {
    name,
    async follow(url, token, executionId, { after, onEvent } = {}) {
      const id = ++last;
      // Python hears of the answer in a task of its own, so it may tell of an event before it.
      const connection = beginFollowing(onEvent, false);
      connections.set(id, connection);
      say({ do: 'follow', id, url, token, wish: joinMessage(executionId, after), transports });
      return await connection.follow(name, () => {
        connections.delete(id);
        connection.ended(null);
        if (child.exitCode === null) say({ do: 'disconnect', id });
      });
    },
    async close() {
      child.stdin.end();
      if (child.exitCode === null) await once(child, 'exit');
    },
  };
}

function pass(told: Told, connection: FollowingBuilder | undefined): void {
  if (told.event) connection?.event(told.event);
  if (told.joined) connection?.joined(told.joined);
  if (told.refused !== undefined) connection?.refused(told.refused);
  if (told.failed !== undefined) connection?.failed(told.failed);
  if (told.ended !== undefined) connection?.ended(told.ended);
}
