import { Client } from 'pg';
import type { Logger } from 'pino';

/**
 * What the database tells its listeners. A message is an id, and behind a space whatever else is to be known:
 * - `feed`: a run whose feed has grown
 * - `keys`: an API key that may be used otherwise than before
 * - `deliveries`: a webhook, then the ids of its deliveries that have changed
 * - `relay`: a webhook with a request that waits for its listener
 * - `relayAnswers`: a relayed request whose answer is there
 */
export const CHANNELS = {
  feed: 'baton_feed',
  keys: 'baton_keys',
  deliveries: 'baton_deliveries',
  relay: 'baton_relay',
  relayAnswers: 'baton_relay_answers',
} as const;

type Channel = keyof typeof CHANNELS;
const ALL = Object.keys(CHANNELS) as Channel[];
/** `rest` is what stood behind the id; null where anything may have happened, since the connection was lost. */
type OnChange = (id: string, rest: string | null) => void;

/** Tells of what others have written. */
export type Notifications = {
  /**
   * Calls `onChange` whenever the thing of that id may have changed; the answer ends it. Without an id it is
   * called for every one.
   */
  subscribe(channel: Channel, id: string | null, onChange: OnChange): () => void;
  /** False while the connection is lost: what is told meanwhile is heard of only when it is back. */
  isConnected(): boolean;
  close(): Promise<void>;
};

const RECONNECT_MS = 500;
/** In the place of an id: for all. */
const EVERY = '*';

/**
 * Listens to the database at `url` on a connection of its own, to the channels that are named. When the connection is
 * lost it is made anew, and then every subscriber is called, since what was told meanwhile is only in the tables.
 * @throws where the first connection fails
 */
export async function startNotifications(
  url: string,
  log: Logger,
  channels: readonly Channel[] = ALL,
): Promise<Notifications> {
  const names = new Map<string, Channel>(channels.map((channel) => [CHANNELS[channel], channel]));
  const subscribers = new Map<string, Set<OnChange>>();
  let closed = false;
  let connected = false;
  let client = await connect();

  function notify(channel: Channel, message: string): void {
    const space = message.indexOf(' ');
    const id = space === -1 ? message : message.slice(0, space);
    const rest = space === -1 ? '' : message.slice(space + 1);
    for (const who of [id, EVERY]) {
      for (const listener of subscribers.get(`${channel}:${who}`) ?? []) listener(id, rest);
    }
  }

  async function connect(): Promise<Client> {
    const fresh = new Client({ connectionString: url, keepAlive: true, application_name: 'baton listener' });
    fresh.on('notification', ({ channel, payload }) => {
      const known = names.get(channel);
      if (known && payload) notify(known, payload);
    });
    fresh.on('error', (error) => log.warn({ err: error }, 'database listener error'));
    await fresh.connect();
    await fresh.query([...names.keys()].map((name) => `listen ${name}`).join(';'));
    connected = true;
    // Only now: a connection that never stood is the caller's to try again.
    fresh.on('end', () => {
      connected = false;
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
          for (const listener of listeners) listener(place.slice(place.indexOf(':') + 1), null);
        }
        log.info('database listener reconnected');
        return;
      } catch (error) {
        log.warn({ err: error }, 'database listener cannot connect');
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
    isConnected: () => connected,
    async close() {
      closed = true;
      await client.end();
    },
  };
}
