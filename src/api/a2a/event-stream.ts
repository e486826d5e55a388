import { PassThrough, pipeline, Readable } from 'node:stream';
import type { StreamLimit } from '../http/open-streams.ts';
import type { Caller } from '../http/caller.ts';

/** A comment keeps proxies from closing a quiet stream. */
const HEARTBEAT_MS = 15_000;

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
    const texts = Readable.from(textsOf(first, items, errorOf), { objectMode: true });
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
  let next = Promise.resolve(first);
  try {
    for (;;) {
      const result = await withinHeartbeat(next);
      if (result === null) {
        yield ': still here\n\n';
        continue;
      }
      if (result.done === true) return;
      const { id, data } = result.value;
      yield `${id === null ? '' : `id: ${id}\n`}data: ${JSON.stringify(data)}\n\n`;
      next = items.next();
      // A rejection is reported by the race that follows.
      next.catch(() => {});
    }
  } catch (error) {
    yield `event: error\ndata: ${JSON.stringify(errorOf(error))}\n\n`;
  } finally {
    await items.return(undefined);
  }
}

async function withinHeartbeat<T>(next: Promise<T>): Promise<T | null> {
  const { promise, resolve } = Promise.withResolvers<null>();
  const timer = setTimeout(() => resolve(null), HEARTBEAT_MS);
  try {
    return await Promise.race([next, promise]);
  } finally {
    clearTimeout(timer);
  }
}
