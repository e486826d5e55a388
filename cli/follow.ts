import { followWith } from '../clients/typescript/src/follow.ts';
import type { TransportName } from '../clients/typescript/src/transports.ts';
import { BatonProblem, BatonUnreachable } from '../clients/typescript/src/problem.ts';
import type { FeedEvent } from '../src/domain/tasks/feed-events.ts';
import { ChannelSocket } from './channel-socket.ts';
import { refusal, unreachable, type Api } from './http.ts';
import { printable } from './output.ts';

/** The run to follow. */
export type Followed = { api: Api; id: string; projectId: string };

export type FollowOptions = {
  /** Only events behind this `seq`. */
  after: number;
  /** How long an unreachable server is retried, in milliseconds. */
  patienceMs: number;
  /** Called when the server does not respond, before each retry. */
  onLost: (reason: string) => void;
  /** Called when events come by another transport than before. */
  onOtherTransport?: (reason: string, transport: string) => void;
};

const TRANSPORT_TEXTS: Record<TransportName, string> = {
  channel: 'the live channel',
  stream: 'server-sent events',
  polling: 'polling',
};

/**
 * Yields a run's events to the last one, with the client package: by the live channel, else by server-sent events, else
 * by polling.
 * @throws CliError for a refusal, or when the server has been unreachable for `patienceMs`
 */
export async function* followRun(
  { api, id, projectId }: Followed,
  { after, patienceMs, onLost, onOtherTransport }: FollowOptions,
): AsyncGenerator<FeedEvent> {
  const access = { baseUrl: api.baseUrl, headers: api.headers, WebSocket: ChannelSocket, projectId };
  let last: TransportName = 'channel';
  const onTransport = (transport: TransportName, reason: string | null) => {
    if (transport !== last)
      onOtherTransport?.(printable(reason ?? '').replace(/\.$/, ''), TRANSPORT_TEXTS[transport]);
    last = transport;
  };
  const onUnreachable = (error: Error) => onLost(cliErrorOf(error, api).message);
  try {
    const options = { after, patienceMs, onTransport, onUnreachable };
    yield* followWith(access, id, options);
  } catch (error) {
    throw cliErrorOf(error, api);
  }
}

function cliErrorOf(error: unknown, { baseUrl }: Api): Error {
  if (error instanceof BatonUnreachable) return unreachable(baseUrl, error.cause);
  if (!(error instanceof BatonProblem)) return error as Error;
  const { status, detail, code, requestId, errors, retryAfterMs } = error;
  const body = {
    detail,
    code: code === 'unknown' ? undefined : code,
    request_id: requestId ?? undefined,
    errors,
  };
  return refusal(status, body, retryAfterMs === null ? null : String(Math.ceil(retryAfterMs / 1_000)));
}
