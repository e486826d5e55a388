import { channelUrlOf, type WebSocketConstructor } from './channel.ts';
import { createCredentials, type TokenSource } from './credentials.ts';
import { createEvents } from './events.ts';
import { createHttp, pathOf } from './http.ts';
import { createTasks } from './tasks.ts';
import type { CallOptions, Token } from './types.ts';
import { createDeliveries, createWebhooks } from './webhooks.ts';

export type BatonOptions = {
  /** Where the service is, for example `https://baton.example.com`. */
  baseUrl: string;
  /** An API key. Not in browsers: whoever has the page has the key. */
  apiKey?: string | undefined;
  /** In the place of a key: a token, or what gives one. It is asked again before the last one expires. */
  token?: string | TokenSource | undefined;
  /** How long one answer may take; 30 s unless given. */
  timeoutMs?: number | undefined;
  /** How often a request is sent again that failed for a passing reason and does no harm twice; 3 unless given. */
  retries?: number | undefined;
  /** Another `fetch`, for proxies or tests. */
  fetch?: typeof globalThis.fetch | undefined;
  /** Another `WebSocket`; null for none. On Node 20, which has none, that of the package `ws`. */
  WebSocket?: WebSocketConstructor | null | undefined;
  /** The live channel's address where it is not `/ws` at `baseUrl`. */
  channelUrl?: string | undefined;
};

export type Baton = ReturnType<typeof createBaton>;

const TIMEOUT_MS = 30_000;
const RETRIES = 3;

/**
 * A client of one Baton. It holds no connection open between calls.
 * @throws TypeError where the options make no sense
 */
export function createBaton(options: BatonOptions) {
  const baseUrl = baseUrlOf(options.baseUrl);
  const http = createHttp({
    baseUrl,
    credentials: createCredentials(options),
    fetch: options.fetch ?? globalThis.fetch,
    timeoutMs: options.timeoutMs ?? TIMEOUT_MS,
    retries: options.retries ?? RETRIES,
    random: Math.random,
  });
  const found = (globalThis as { WebSocket?: WebSocketConstructor }).WebSocket ?? null;
  const channel = {
    WebSocket: options.WebSocket === undefined ? found : options.WebSocket,
    url: options.channelUrl ?? channelUrlOf(baseUrl),
  };
  return {
    tasks: createTasks(http, channel),
    events: createEvents(http),
    webhooks: createWebhooks(http),
    deliveries: createDeliveries(http),
    /** A token of 15 minutes for the key's project, to hand to a browser. */
    createToken: ({ signal }: CallOptions = {}) =>
      http.json<Token>({ method: 'POST', path: pathOf('tokens'), isRepeatable: true, signal }),
    /** The addresses that callbacks and deliveries come from. */
    sourceAddresses: async ({ signal }: CallOptions = {}) =>
      (await http.json<{ addresses: string[] }>({ method: 'GET', path: pathOf('source-addresses'), signal }))
        .addresses,
  };
}

function baseUrlOf(given: string): string {
  const url = new URL(given);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    throw new TypeError('baseUrl must start with https:// or http://.');
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
}
