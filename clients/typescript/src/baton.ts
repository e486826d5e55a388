import { channelUrlOf, type WebSocketConstructor } from './channel.ts';
import { createCredentials, type TokenSource } from './credentials.ts';
import { createEvents } from './events.ts';
import { createHttp, pathOf } from './http.ts';
import { createTasks } from './tasks.ts';
import type { CallOptions, Token } from './types.ts';
import { createDeliveries, createWebhooks } from './webhooks.ts';

export type BatonOptions = {
  /** The address of the service, for example `https://baton.example.com`. */
  baseUrl: string;
  /** An API key. Do not use a key in a browser: every visitor of the page can read it. */
  apiKey?: string | undefined;
  /** A token, or a function that returns one. Replaces `apiKey`. The function is called again before the token expires. */
  token?: string | TokenSource | undefined;
  /** The time limit for one response, in milliseconds. Default: 30 s. */
  timeoutMs?: number | undefined;
  /** How often a request is retried after a transient failure, if repeating it is safe. Default: 3. */
  retries?: number | undefined;
  /** A replacement for the global `fetch`, for proxies or tests. */
  fetch?: typeof globalThis.fetch | undefined;
  /**
   * A replacement for the global `WebSocket`. `null` disables the live channel. Node 20 has no `WebSocket`: pass the one of
   * the package `ws`.
   */
  WebSocket?: WebSocketConstructor | null | undefined;
  /** The address of the live channel. Default: `/ws` at `baseUrl`. */
  channelUrl?: string | undefined;
};

export type Baton = ReturnType<typeof createBaton>;

const TIMEOUT_MS = 30_000;
const RETRIES = 3;

/**
 * Creates a client of one Baton service. It holds no connection open between calls.
 * @throws TypeError if the options are invalid
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
  const globalWebSocket = (globalThis as { WebSocket?: WebSocketConstructor }).WebSocket ?? null;
  const channel = {
    WebSocket: options.WebSocket === undefined ? globalWebSocket : options.WebSocket,
    url: options.channelUrl ?? channelUrlOf(baseUrl),
  };
  return {
    tasks: createTasks(http, channel),
    events: createEvents(http),
    webhooks: createWebhooks(http),
    deliveries: createDeliveries(http),
    /** Creates a token for the project of the API key, to pass to a browser. It is valid for 15 minutes. */
    createToken: ({ signal }: CallOptions = {}) =>
      http.json<Token>({ method: 'POST', path: pathOf('tokens'), isRepeatable: true, signal }),
    /** Returns the addresses from which Baton sends callbacks and deliveries. */
    sourceAddresses: async ({ signal }: CallOptions = {}) =>
      (await http.json<{ addresses: string[] }>({ method: 'GET', path: pathOf('source-addresses'), signal }))
        .addresses,
  };
}

function baseUrlOf(text: string): string {
  const url = new URL(text);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    throw new TypeError('baseUrl must start with https:// or http://.');
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
}
