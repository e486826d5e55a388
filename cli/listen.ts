import { setTimeout as sleep } from 'node:timers/promises';
import type { RelayAnswer, RelayRequest } from '../src/domain/channel/channel.ts';
import { type Channel, openChannel } from './channel.ts';
import { ChannelError } from './channel-error.ts';
import { CliError, EXIT } from './exit-codes.ts';
import type { Api } from './http.ts';

/** Which webhook to listen to, and what to do with its deliveries. */
export type ListenOptions = {
  webhookId: string;
  /** The project of the token, for users; keys have their own. */
  projectId: string | undefined;
  /** Stops listening. */
  signal: AbortSignal;
  /** Called when listening starts, also after a lost connection. */
  onListening(): void;
  onLost(reason: string): void;
  /** Returns the response to a request; may take any time. */
  onRequest(request: RelayRequest): Promise<RelayAnswer>;
  /** Called if the response was too late. */
  onLate(request: RelayRequest): void;
  /** Called if the service refused the response. The service then records a timeout. */
  onRefused(request: RelayRequest, reason: string): void;
};

const RETRY_MS = 1_000;
/** When a rate-limited response is sent again, in milliseconds. */
const RATE_LIMITED_RETRY_MS = 250;
/** Codes of a refused response. Any other error ends the connection. */
const REFUSED_CODES: readonly string[] = ['invalid_message', 'unavailable'] satisfies ChannelError['code'][];
/** Transient codes, which are retried without limit. */
const TRANSIENT_CODES: readonly string[] = [
  'unreachable',
  'unavailable',
  'server_stopping',
  'slow_reader',
  'rate_limited',
  'token_expired',
] satisfies ChannelError['code'][];

/**
 * Listens to a webhook until `signal` is aborted, and reconnects as often as necessary.
 * @throws CliError if the first connection fails, or listening is rejected permanently
 */
export async function listen(api: Api, options: ListenOptions): Promise<void> {
  const { signal, projectId, onLost } = options;
  let wasListening = false;
  const onListening = () => {
    wasListening = true;
    options.onListening();
  };
  while (!signal.aborted) {
    try {
      const channel = await openChannel(api, projectId === undefined ? {} : { projectId });
      await listenOn(channel, { ...options, onListening });
    } catch (error) {
      if (signal.aborted) return;
      if (!wasListening || !isTransient(error)) throw finalOf(error, wasListening);
      onLost((error as Error).message);
    }
    await sleep(RETRY_MS, undefined, { signal }).catch(() => {});
  }
}

async function listenOn(channel: Channel, options: ListenOptions): Promise<void> {
  const { signal, webhookId, onListening } = options;
  const close = () => channel.close();
  signal.addEventListener('abort', close, { once: true });
  try {
    if (signal.aborted) return;
    await channel.ask('listen', { webhook_id: webhookId });
    onListening();
    for await (const message of channel.pushed) {
      if (message.type === 'request') void serve(channel, message, options);
      if (message.type === 'listening_ended') throw new CliError(EXIT.refused, ENDS[message.reason]);
    }
  } finally {
    signal.removeEventListener('abort', close);
    channel.close();
  }
}

const ENDS = {
  replaced: 'Another listener took over this webhook',
  gone: 'The webhook no longer exists: it was deleted, or had no listener for a minute',
} as const;

/** Sends the response to a request. If the connection ends before, the service sends the request again on the next one. */
async function serve(channel: Channel, request: RelayRequest, options: ListenOptions): Promise<void> {
  const answer = await options.onRequest(request);
  for (;;) {
    try {
      const { in_time } = await channel.ask('answer', { request_id: request.id, ...answer });
      if (in_time !== true) options.onLate(request);
      return;
    } catch (error) {
      if (!(error instanceof ChannelError)) return;
      if (REFUSED_CODES.includes(error.code)) options.onRefused(request, error.message);
      if (error.code !== 'rate_limited') return;
      await sleep(RATE_LIMITED_RETRY_MS);
    }
  }
}

function isTransient(error: unknown): boolean {
  if (error instanceof ChannelError) return TRANSIENT_CODES.includes(error.code);
  return error instanceof CliError && error.exitCode === EXIT.unavailable;
}

function finalOf(error: unknown, wasListening: boolean): unknown {
  if (!(error instanceof ChannelError)) return error;
  if (isTransient(error)) return new CliError(EXIT.unavailable, error.message);
  return new CliError(EXIT.refused, wasListening && error.code === 'forbidden' ? ENDS.gone : error.message);
}
