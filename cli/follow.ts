import { setTimeout as sleep } from 'node:timers/promises';
import type { FeedEvent } from '../src/domain/feed-events.ts';
import { isTerminal } from '../src/domain/task-states.ts';
import { CliError, EXIT } from './exit-codes.ts';
import type { Api } from './http.ts';
import type { Detail } from './shapes.ts';
import { readSse } from './sse.ts';

/** The server sends a sign of life every 15 s; a stream that is silent for longer is dead. */
const SILENCE_MS = 45_000;
/** So many streams in a row that bring nothing, and we ask again and again instead. */
const BARREN_STREAMS = 3;
const POLL_MS = 1_000;

export type FollowOptions = {
  /** Only events behind this `seq`. */
  after: number;
  /** How long a server that is out of reach is waited for, in milliseconds. */
  patienceMs: number;
  /** Told once whenever the connection is lost. */
  onLost: (reason: string) => void;
};

/**
 * A run's events to the last one, in order and without gap: by server-sent events, again from the last `seq` when the
 * connection breaks, and by polling where streams do not get through. Rejects with the CliError of a refusal, or with
 * that of the server's absence once patience is over.
 */
export async function* followFeed(api: Api, id: string, options: FollowOptions): AsyncGenerator<FeedEvent> {
  const { patienceMs, onLost } = options;
  let seq = options.after;
  let barren = 0;
  let lastHeard = Date.now();
  for (;;) {
    const before = seq;
    try {
      const events = barren < BARREN_STREAMS ? streamed(api, id, seq) : polled(api, id, seq);
      for await (const event of events) {
        if (event.seq <= seq) continue;
        seq = event.seq;
        yield event;
      }
      lastHeard = Date.now();
      if (await isOver(api, id, seq)) return;
      if (barren >= BARREN_STREAMS) await sleep(POLL_MS);
    } catch (error) {
      if (!(error instanceof CliError) || error.exitCode !== EXIT.unavailable) throw error;
      if (seq > before) lastHeard = Date.now();
      if (Date.now() - lastHeard >= patienceMs) throw error;
      onLost(error.message);
      await sleep(POLL_MS);
      continue;
    }
    barren = seq > before || barren >= BARREN_STREAMS ? barren : barren + 1;
  }
}

/** True where nothing comes behind `seq` any more. */
async function isOver(api: Api, id: string, seq: number): Promise<boolean> {
  const run = await api.call<Detail>('GET', `/api/v1/tasks/${id}`);
  return isTerminal(run.state) && run.callback.status !== 'pending' && run.last_seq <= seq;
}

async function* polled(api: Api, id: string, after: number): AsyncGenerator<FeedEvent> {
  const path = `/api/v1/tasks/${id}/events`;
  const { data } = await api.call<{ data: FeedEvent[] }>('GET', path, { query: { after } });
  yield* data;
}

async function* streamed(api: Api, id: string, after: number): AsyncGenerator<FeedEvent> {
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
    throw new CliError(EXIT.unavailable, `The connection to ${api.baseUrl} was lost`);
  } finally {
    clearTimeout(timer);
    silence.abort();
  }
}
