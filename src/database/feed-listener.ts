import { Client } from 'pg';
import type { Logger } from 'pino';
import { FEED_CHANNEL } from './feed.ts';

/** Tells who follows a run that its feed has grown. */
export type FeedListener = {
  /** Calls `onChange` whenever the run's feed may have grown; the answer ends it. */
  subscribe(executionId: string, onChange: () => void): () => void;
  close(): Promise<void>;
};

const RECONNECT_MS = 500;

/**
 * Listens to the database at `url` on a connection of its own. When the connection is lost it is made anew, and
 * then every subscriber is called, since what was told meanwhile is only in the table.
 * @throws where the first connection fails
 */
export async function startFeedListener(url: string, log: Logger): Promise<FeedListener> {
  const subscribers = new Map<string, Set<() => void>>();
  let closed = false;
  let client = await connect();

  async function connect(): Promise<Client> {
    const fresh = new Client({ connectionString: url, keepAlive: true, application_name: 'baton feed' });
    fresh.on('notification', ({ payload }) => call(subscribers.get(payload ?? '')));
    fresh.on('error', (error) => log.warn({ err: error }, 'the feed listener has trouble'));
    await fresh.connect();
    await fresh.query(`listen ${FEED_CHANNEL}`);
    // Only now: a connection that never stood is the caller's to try again.
    fresh.on('end', () => void reconnect());
    return fresh;
  }

  async function reconnect(): Promise<void> {
    while (!closed) {
      await new Promise((resolve) => setTimeout(resolve, RECONNECT_MS).unref());
      if (closed) return;
      try {
        client = await connect();
        for (const listeners of subscribers.values()) call(listeners);
        log.info('the feed listener is back');
        return;
      } catch (error) {
        log.warn({ err: error }, 'the feed listener can not connect');
      }
    }
  }

  return {
    subscribe(executionId, onChange) {
      const listeners = subscribers.get(executionId) ?? new Set();
      subscribers.set(executionId, listeners.add(onChange));
      return () => {
        listeners.delete(onChange);
        if (listeners.size === 0 && subscribers.get(executionId) === listeners)
          subscribers.delete(executionId);
      };
    },
    async close() {
      closed = true;
      await client.end();
    },
  };
}

function call(listeners: Set<() => void> | undefined): void {
  for (const listener of listeners ?? []) listener();
}
