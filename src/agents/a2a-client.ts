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

/** A remote agent that has shown its card. */
export type RemoteClient = { client: Client; card: AgentCard };

type Dependencies = { environment: Environment; fetch: typeof globalThis.fetch };

/**
 * Reads an agent's card and connects to what that names. An address that ends with `.json` is the card's own; else the
 * card lies where the protocol says. The headers of the catalogue go to the origin of the catalogue's address alone,
 * whatever addresses the card names.
 * @throws Error that says why it is not to be had
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
    // The card is asked for without a signal; all else brings its own.
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
