import { createHash } from 'node:crypto';
import { derivedUuid } from '../../src/database/common/ids.ts';
import type { Violation } from '../invariants/guarantees.ts';
import { createClock, type Clock } from './clock.ts';
import { enter } from './globals.ts';
import { createRandom } from './random.ts';

/** The result of a world. `trace` has a line for each event; the same story gives the same bytes. */
export type Outcome = { violation: Violation | null; trace: string; hash: string };

/** A world that is ready to run. */
export type World = {
  /** The time of the last step, in milliseconds since {@link BEGIN}. */
  lastAt: number;
  /** Returns whether nothing is left to do. */
  isQuiet(): boolean;
  /** What is checked at the end, one after another, until a guarantee does not hold. */
  atEnd: readonly (() => void)[];
};

/** What a world reports, and where its ids come from. */
export type Journal = {
  trace(line: string): void;
  /** Reports that a guarantee does not hold. Only the first one counts. */
  report(guarantee: Violation['guarantee'], what: string): void;
  newId(what: string): string;
};

/** The start time of every world, and the maximum time from its last step to its end, in milliseconds. */
export const BEGIN = Date.UTC(2026, 0, 1);
const LONGEST_MS = 72 * 3_600_000;
/** Time in which requests and attempts in progress end, in milliseconds. */
export const LAST_REQUESTS_MS = 60_000;

/** Runs a story in a world of its own, until nothing is left to do or a guarantee does not hold. */
export async function tellStory(
  seed: number,
  createWorld: (clock: Clock, journal: Journal) => World,
): Promise<Outcome> {
  const clock = createClock(BEGIN);
  const lines: string[] = [];
  const found: Violation[] = [];
  const trace = (line: string) => void lines.push(`${(clock.now() - BEGIN).toFixed(0)} ${line}`);
  let ids = 0;
  const hasFailed = () => found.length > 0;

  enter({ clock, random: createRandom(`globals ${seed}`) });
  try {
    const { lastAt, isQuiet, atEnd } = createWorld(clock, {
      trace,
      report(guarantee, what) {
        trace(`VIOLATION of ${guarantee}: ${what}`);
        found.push({ guarantee, what, at: clock.now() - BEGIN });
      },
      newId: (what) => derivedUuid(new Date(), `${what} ${(ids += 1)}`),
    });
    const limit = BEGIN + lastAt + LONGEST_MS;
    do {
      await clock.run(() => hasFailed() || isQuiet(), limit);
      // Requests in progress may cause more work.
      if (!hasFailed()) await clock.run(hasFailed, clock.now() + LAST_REQUESTS_MS);
    } while (!hasFailed() && !isQuiet() && clock.now() < limit);
    for (const check of atEnd) if (!hasFailed()) check();
    const text = lines.join('\n');
    return {
      violation: found[0] ?? null,
      trace: text,
      hash: createHash('sha256').update(text).digest('hex'),
    };
  } finally {
    enter(null);
  }
}
