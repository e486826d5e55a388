import { Client } from 'pg';
import type { Logger } from 'pino';

/**
 * PostgreSQL channels of notifications. A message is an id, with details after a space:
 * - `feed`: a run with new events
 * - `credentials`: an API key that changed, a session that ended, or a person whose membership changed
 * - `deliveries`: a webhook, then the ids of its changed deliveries
 * - `relay`: a webhook with a request for its listener
 * - `relayAnswers`: a relayed request that was answered
 */
export const CHANNELS = {
  feed: 'baton_feed',
  credentials: 'baton_keys',
  deliveries: 'baton_deliveries',
  relay: 'baton_relay',
  relayAnswers: 'baton_relay_answers',
} as const;

type Channel = keyof typeof CHANNELS;
const ALL = Object.keys(CHANNELS) as Channel[];
/** `rest` is the text after the id. Null after a lost connection, when anything may have changed. */
type OnChange = (id: string, rest: string | null) => void;

/** Notifications about changes that other processes wrote. */
export type Notifications = {
  /**
   * Calls `onChange` whenever the object with this id may have changed; without an id, for every object. Returns a
   * function that ends the subscription.
   */
  subscribe(channel: Channel, id: string | null, onChange: OnChange): () => void;
  /** Returns false while the connection is lost. Changes made during that time are reported only after the reconnect. */
  isConnected(): boolean;
  close(): Promise<void>;
};

const RECONNECT_MS = 500;
/** A connection that is not open after this time is given up, in milliseconds. */
const CONNECT_LIMIT_MS = 10_000;
/**
 * How often a statement checks the connection, in milliseconds. A connection that a firewall or a failover has dropped
 * without a message looks open for hours, and its notifications are lost.
 */
const CHECK_MS = 10_000;
/** Used instead of an id for all objects. */
const EVERY = '*';

/**
 * Listens to these channels of the database at `url` on a separate connection. After a lost connection it reconnects
 * and calls every subscriber, since notifications sent during the outage are lost. A connection that does not respond within
 * `checkMs` milliseconds counts as lost.
 * @throws if the first connection fails
 */
export async function startNotifications(
  url: string,
  log: Logger,
  channels: readonly Channel[] = ALL,
  checkMs = CHECK_MS,
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
    const fresh = new Client({
      connectionString: url,
      keepAlive: true,
      connectionTimeoutMillis: CONNECT_LIMIT_MS,
      application_name: 'baton listener',
    });
    fresh.on('notification', ({ channel, payload }) => {
      const known = names.get(channel);
      if (known && payload) notify(known, payload);
    });
    fresh.on('error', (error) => log.warn({ err: error }, 'database listener error'));
    try {
      await fresh.connect();
      endIfSilent(fresh, checkMs);
      await fresh.query([...names.keys()].map((name) => `listen ${name}`).join(';'));
    } catch (error) {
      // A standby that is not primary yet accepts connections, and refuses to listen.
      fresh.end().catch(() => {});
      throw error;
    }
    connected = true;
    // Registered only now: if the first connection fails, the caller retries.
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
        if (closed) return await client.end();
        for (const [topic, listeners] of subscribers) {
          for (const listener of listeners) listener(topic.slice(topic.indexOf(':') + 1), null);
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
      const topic = `${channel}:${id ?? EVERY}`;
      const listeners = subscribers.get(topic) ?? new Set();
      subscribers.set(topic, listeners.add(onChange));
      return () => {
        listeners.delete(onChange);
        if (listeners.size === 0 && subscribers.get(topic) === listeners) subscribers.delete(topic);
      };
    },
    isConnected: () => connected,
    async close() {
      closed = true;
      await client.end();
    },
  };
}

/** Ends a connection that does not respond to a statement before the next one is due. */
function endIfSilent(client: Client, everyMs: number): void {
  let isSilent = false;
  const check = setInterval(() => {
    // With a statement in progress, this closes the socket without waiting.
    if (isSilent) return void client.end().catch(() => {});
    isSilent = true;
    client.query('select 1').then(
      () => (isSilent = false),
      () => {},
    );
  }, everyMs).unref();
  client.on('end', () => clearInterval(check));
}
