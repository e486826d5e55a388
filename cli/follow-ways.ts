import type { FeedEvent } from '../src/domain/tasks/feed-events.ts';
import { isTerminal } from '../src/domain/tasks/task-states.ts';
import { ChannelError } from './channel-error.ts';
import { type Channel, openChannel } from './channel.ts';
import { CliError, EXIT } from './exit-codes.ts';
import type { Api } from './http.ts';
import type { Detail } from './shapes.ts';
import { readSse } from './sse.ts';

/** The run that is followed. */
export type Followed = { api: Api; id: string; projectId: string };

/**
 * A way to the events behind `after`, in order; it ends when it has no more to give for now. Throws a CliError where
 * the service refuses or is out of reach, a ChannelError where only this way is.
 */
type Read = (run: Followed, after: number) => AsyncGenerator<FeedEvent>;

/** The ways to a run's events, the best first. `tries`: so many in a row without an event, and the next one is taken. */
export const WAYS: readonly [Way, ...Way[]] = [
  { name: 'the live channel', read: channelled, tries: 2 },
  { name: 'server-sent events', read: streamed, tries: 3 },
  { name: 'polling', read: polled, tries: Number.POSITIVE_INFINITY },
];
export type Way = { name: string; read: Read; tries: number };

/** The server sends a sign of life every 15 s; a stream that is silent for longer is dead. */
const SILENCE_MS = 45_000;
/** How often a run is looked at that has ended and whose callback is still on its way. */
const SETTLING_LOOK_MS = 1_000;

/** True where nothing comes behind `seq` any more. */
export async function isOver({ api, id }: Followed, seq: number): Promise<boolean> {
  const run = await api.call<Detail>('GET', `/api/v1/tasks/${id}`);
  return isTerminal(run.state) && run.callback.status !== 'pending' && run.last_seq <= seq;
}

async function* channelled(run: Followed, after: number): AsyncGenerator<FeedEvent> {
  const channel = await openFor(run);
  let seq = after;
  // Whatever is wrong when it is looked at, whoever follows will find it out in the same way.
  const look = () =>
    isOver(run, seq).then(
      (over) => over && channel.close(),
      () => channel.close(),
    );
  let looking: NodeJS.Timeout | undefined;
  try {
    await channel.ask('join', { room: `workflow:${run.id}`, after });
    void look();
    for await (const message of channel.pushed) {
      const event = message.type === 'event' ? message.event : null;
      if (event === null || !('seq' in event) || event.seq <= seq) continue;
      if (event.seq > seq + 1) throw new ChannelError('unreachable', 'The live channel skipped an event');
      seq = event.seq;
      yield event;
      if (event.type !== 'run.ended' && event.type !== 'callback.attempted') continue;
      looking ??= setInterval(() => void look(), SETTLING_LOOK_MS);
      void look();
    }
  } finally {
    clearInterval(looking);
    channel.close();
  }
}

/** A token that can not be had says nothing about the other ways, which need none. */
async function openFor({ api, projectId }: Followed): Promise<Channel> {
  try {
    return await openChannel(api, { projectId });
  } catch (error) {
    if (!(error instanceof CliError) || error.exitCode === EXIT.unavailable) throw error;
    throw new ChannelError('token_invalid', `No token for the live channel: ${error.message}`);
  }
}

async function* polled({ api, id }: Followed, after: number): AsyncGenerator<FeedEvent> {
  const path = `/api/v1/tasks/${id}/events`;
  const { data } = await api.call<{ data: FeedEvent[] }>('GET', path, { query: { after } });
  yield* data;
}

async function* streamed({ api, id }: Followed, after: number): AsyncGenerator<FeedEvent> {
  const silence = new AbortController();
  const timer = setTimeout(() => silence.abort(), SILENCE_MS);
  try {
    const response = await api.open('GET', `/api/v1/tasks/${id}/events`, {
      query: { after },
      headers: { accept: 'text/event-stream' },
      signal: silence.signal,
    });
    if (response.body === null || !response.headers.get('content-type')?.startsWith('text/event-stream'))
      return;
    for await (const message of readSse(response.body, () => timer.refresh())) {
      yield JSON.parse(message.data) as FeedEvent;
    }
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw new CliError(EXIT.unavailable, `Lost the connection to ${api.baseUrl}`);
  } finally {
    clearTimeout(timer);
    silence.abort();
  }
}
