import {
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
  type Client,
} from '@a2a-js/sdk/client';
import type { AgentCard } from '@a2a-js/sdk';
import type { Environment } from './secrets.ts';
import type { RemoteAgent } from './server-settings.ts';
import { headersOf } from './tool-connection.ts';

/** A connected remote agent with its card. */
export type RemoteClient = { client: Client; card: AgentCard };

type Dependencies = { environment: Environment; fetch: typeof globalThis.fetch };

/**
 * Reads an agent's card and connects to the agent. A URL that ends with `.json` is the card itself; otherwise the card
 * is at the protocol's path. The headers of the catalogue are sent only to the origin of the catalogue's URL, whatever
 * URLs the card contains.
 * @throws Error with the reason if the agent is unavailable
 */
export async function connectToRemote(
  { url, headersEnv }: RemoteAgent,
  { environment, fetch }: Dependencies,
  signal: AbortSignal,
): Promise<RemoteClient> {
  const own = headersOf(headersEnv, environment);
  const { origin } = new URL(url);
  const fetchImpl = (async (input: string | URL, init: RequestInit = {}) => {
    const headers = new Headers(init.headers);
    if (new URL(input).origin === origin) {
      for (const [name, value] of Object.entries(own)) headers.set(name, value);
    }
    // The SDK reads the card without a signal. All other requests have one.
    return await fetch(input, {
      ...init,
      headers: Object.fromEntries(headers),
      signal: init.signal ?? signal,
    });
  }) as typeof globalThis.fetch;
  const options = { fetchImpl, legacyCompat: { enabled: true } };
  const cardResolver = new DefaultAgentCardResolver(options);
  const card = url.endsWith('.json')
    ? await cardResolver.resolve(url, '')
    : await cardResolver.resolve(url.endsWith('/') ? url : `${url}/`);
  const factory = new ClientFactory({
    transports: [new JsonRpcTransportFactory(options), new RestTransportFactory(options)],
    cardResolver,
  });
  return { client: await factory.createFromAgentCard(card), card };
}
