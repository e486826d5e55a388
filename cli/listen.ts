import { setTimeout as sleep } from 'node:timers/promises';
import type { RelayAnswer, RelayRequest } from '../src/domain/channel/channel.ts';
import { type Channel, openChannel } from './channel.ts';
import { ChannelError } from './channel-error.ts';
import { CliError, EXIT } from './exit-codes.ts';
import type { Api } from './http.ts';

/** Whom is listened for, and what is done with it. */
export type ListenOptions = {
  webhookId: string;
  /** A project for the token, for people; keys have their own. */
  projectId: string | undefined;
  /** Ends the listening. */
  signal: AbortSignal;
  /** From now on deliveries come; again after the connection was lost. */
  onListening(): void;
  onLost(reason: string): void;
  /** Gives what is to be answered; may take as long as it takes. */
  onRequest(request: RelayRequest): Promise<RelayAnswer>;
  /** The answer came when nobody waited for it any more. */
  onLate(request: RelayRequest): void;
};

const AGAIN_MS = 1_000;
/** Answers that come too fast for the channel are given again after this time. */
const SLOWER_MS = 250;
/** What passes: then it is tried again for as long as it takes. */
const PASSING: readonly string[] = [
  'unreachable',
  'unavailable',
  'server_stopping',
  'slow_reader',
  'rate_limited',
  'token_expired',
] satisfies ChannelError['code'][];

/**
 * Listens to a webhook until `signal` ends it, over as many connections as it takes.
 * @throws CliError where the first connection can not be had, or listening is refused for good
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
      if (!wasListening || !isPassing(error)) throw finalOf(error, wasListening);
      onLost((error as Error).message);
    }
    await sleep(AGAIN_MS, undefined, { signal }).catch(() => {});
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

/** An answer that can't be given is asked for again, with the request, once there is a connection. */
async function serve(channel: Channel, request: RelayRequest, options: ListenOptions): Promise<void> {
  const answer = await options.onRequest(request);
  for (;;) {
    try {
      const { in_time } = await channel.ask('answer', { request_id: request.id, ...answer });
      if (in_time !== true) options.onLate(request);
      return;
    } catch (error) {
      if (!(error instanceof ChannelError) || error.code !== 'rate_limited') return;
      await sleep(SLOWER_MS);
    }
  }
}

function isPassing(error: unknown): boolean {
  if (error instanceof ChannelError) return PASSING.includes(error.code);
  return error instanceof CliError && error.exitCode === EXIT.unavailable;
}

function finalOf(error: unknown, wasListening: boolean): unknown {
  if (!(error instanceof ChannelError)) return error;
  if (isPassing(error)) return new CliError(EXIT.unavailable, error.message);
  return new CliError(EXIT.refused, wasListening && error.code === 'forbidden' ? ENDS.gone : error.message);
}
