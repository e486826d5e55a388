import { PassThrough, pipeline, Readable } from 'node:stream';
import { withHeartbeats } from '../http/heartbeats.ts';
import type { StreamLimit } from '../http/open-streams.ts';
import type { Caller } from '../http/caller.ts';

/** One response of a stream as JSON, and the last event of the feed that it includes; null: not the last of its event. */
export type StreamItem = { data: unknown; id: number | null };

/**
 * Returns responses as server-sent events. Resolves when the first one is there.
 * @throws Problem `rate_limited` before anything is read; what the first response throws
 */
export async function eventStreamOf(
  items: AsyncGenerator<StreamItem>,
  { limit, caller, errorOf }: { limit: StreamLimit; caller: Caller; errorOf(error: unknown): unknown },
): Promise<Readable> {
  const stream = limit.counted(caller, () => new PassThrough()) as PassThrough;
  try {
    const first = await items.next();
    const texts = Readable.from(withHeartbeats(textsOf(first, items, errorOf)), { objectMode: true });
    // A client that disconnects is not an error.
    pipeline(texts, stream, () => {});
    return stream;
  } catch (error) {
    stream.destroy();
    throw error;
  }
}

async function* textsOf(
  first: IteratorResult<StreamItem>,
  items: AsyncGenerator<StreamItem>,
  errorOf: (error: unknown) => unknown,
): AsyncGenerator<string> {
  try {
    for (let next = first; next.done !== true; next = await items.next()) {
      const { id, data } = next.value;
      yield `${id === null ? '' : `id: ${id}\n`}data: ${JSON.stringify(data)}\n\n`;
    }
  } catch (error) {
    yield `event: error\ndata: ${JSON.stringify(errorOf(error))}\n\n`;
  } finally {
    await items.return(undefined);
  }
}
