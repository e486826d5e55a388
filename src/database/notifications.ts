import { Client } from 'pg';
import type { Logger } from 'pino';

/**
 * What the database tells its listeners, each a channel with ids as its messages: `baton_feed` the id of a run
 * whose feed has grown, `baton_keys` that of an API key that may be used otherwise than before.
 */
export const CHANNELS = { feed: 'baton_feed', keys: 'baton_keys' } as const;

type Channel = keyof typeof CHANNELS;

/** Tells of what others have written. */
export type Notifications = {
  /**
   * Calls `onChange` whenever the thing of that id may have changed; the answer ends it. Without an id it is
   * called for every one.
   */
  subscribe(channel: Channel, id: string | null, onChange: (id: string) => void): () => void;
  /** False while the connection is lost: what is told meanwhile is heard of only when it is back. */
  isHearing(): boolean;
  close(): Promise<void>;
};

const RECONNECT_MS = 500;
const NAMES = new Map(
  Object.entries(CHANNELS).map(([channel, name]) => [name as string, channel as Channel]),
);
/** In the place of an id: for all. */
const EVERY = '*';

/**
 * Listens to the database at `url` on a connection of its own. When the connection is lost it is made anew, and
 * then every subscriber is called, since what was told meanwhile is only in the tables.
 * @throws where the first connection fails
 */
export async function startNotifications(url: string, log: Logger): Promise<Notifications> {
  const subscribers = new Map<string, Set<(id: string) => void>>();
  let closed = false;
  let hearing = false;
  let client = await connect();

  function tell(channel: Channel, id: string): void {
    for (const who of [id, EVERY]) {
      for (const listener of subscribers.get(`${channel}:${who}`) ?? []) listener(id);
    }
  }

  async function connect(): Promise<Client> {
    const fresh = new Client({ connectionString: url, keepAlive: true, application_name: 'baton listener' });
    fresh.on('notification', ({ channel, payload }) => {
      const known = NAMES.get(channel);
      if (known && payload) tell(known, payload);
    });
    fresh.on('error', (error) => log.warn({ err: error }, 'the listener to the database has trouble'));
    await fresh.connect();
    await fresh.query([...NAMES.keys()].map((name) => `listen ${name}`).join(';'));
    hearing = true;
    // Only now: a connection that never stood is the caller's to try again.
    fresh.on('end', () => {
      hearing = false;
      void reconnect();
    });
    return fresh;
  }

  async function reconnect(): Promise<void> {
    while (!closed) {
      await new Promise((resolve) => setTimeout(resolve, RECONNECT_MS).unref());
      if (closed) return;
      try {
        client = await connect();
        for (const [place, listeners] of subscribers) {
          for (const listener of listeners) listener(place.slice(place.indexOf(':') + 1));
        }
        log.info('the listener to the database is back');
        return;
      } catch (error) {
        log.warn({ err: error }, 'the listener to the database can not connect');
      }
    }
  }

  return {
    subscribe(channel, id, onChange) {
      const place = `${channel}:${id ?? EVERY}`;
      const listeners = subscribers.get(place) ?? new Set();
      subscribers.set(place, listeners.add(onChange));
      return () => {
        listeners.delete(onChange);
        if (listeners.size === 0 && subscribers.get(place) === listeners) subscribers.delete(place);
      };
    },
    isHearing: () => hearing,
    async close() {
      closed = true;
      await client.end();
    },
  };
}
