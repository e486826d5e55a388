import { setTimeout as pause } from 'node:timers/promises';
import { ApplicationFailure } from '@temporalio/common';
import { isDatabaseOutage, refusedDataCode } from '../database/common/outage.ts';

/** Interval of the retries, and time limit of {@link retryOnOutage}, in milliseconds. */
const RETRY_MS = 200;
const GIVE_UP_MS = 60_000;

/**
 * Repeats a write during a database outage, since a lost result would be sent again. Gives up after a minute, so that a
 * process can end, or as soon as `signal` aborts. `isAgain` says whether `write` was tried before: a broken connection
 * may have failed before or after the commit.
 */
export async function retryOnOutage<Result>(
  write: (isAgain: boolean) => Promise<Result>,
  signal?: AbortSignal,
): Promise<Result> {
  const until = performance.now() + GIVE_UP_MS;
  for (let isAgain = false; ; isAgain = true) {
    try {
      return await write(isAgain);
    } catch (error) {
      if (!isDatabaseOutage(error) || signal?.aborted || performance.now() > until) throw error;
      await pause(RETRY_MS);
    }
  }
}

/**
 * Repeats reads and writes of the database until PostgreSQL is available again. For activities that send heartbeats: an
 * outage must not use up attempts that are meant for an agent, its model or its tools.
 * @throws the reason of `signal` if it has aborted; `error` itself if PostgreSQL refuses a value, see
 * src/runtime/refused-data.ts; else ApplicationFailure with the kind of the error, but without its message, which users and
 * models would see
 */
export async function retryUntilCancelled<Result>(
  work: () => Promise<Result>,
  signal: AbortSignal,
): Promise<Result> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      signal.throwIfAborted();
      if (refusedDataCode(error) !== null) throw error;
      if (!isDatabaseOutage(error))
        throw ApplicationFailure.create({ message: `a database statement failed (${kindOf(error)})` });
    }
    await pause(RETRY_MS, undefined, { signal });
  }
}

/** Returns the code of an error, as PostgreSQL and Node have them, or else its name. */
function kindOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? code : error.name;
}
