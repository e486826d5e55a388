import type { AttemptLimiter } from '../../src/activities/deliveries/attempt-limiter.ts';
import type { AttemptTarget } from '../../src/domain/webhooks/attempt-scheduler.ts';

/** An attempt that waits, and since which moment. */
type Wait = { since: number; isOver: boolean };
/** The attempts of one webhook. `lastPlace`: the moment of the last place that it got; zero if none. */
type Row = { workspaceId: string; running: number; waiting: Wait[]; lastPlace: number };

/**
 * Checks the places of a worker. A webhook must not get two places in a row if another webhook without a running attempt
 * has waited since before the first of them: then it was the turn of the other webhook. `moment` counts the events of the
 * world. The order within a moment is unknown here, so `settled` calls back at the end of the moment.
 */
export function watchPlaces(
  limiter: AttemptLimiter,
  moments: { moment(): number; settled(check: () => void): void },
  report: (what: string) => void,
): AttemptLimiter {
  const { moment, settled } = moments;
  const rows = new Map<string, Row>();
  const rowOf = ({ webhookId, workspaceId }: AttemptTarget): Row => {
    const row = rows.get(webhookId) ?? { workspaceId, running: 0, waiting: [], lastPlace: 0 };
    rows.set(webhookId, row);
    return row;
  };

  function check({ webhookId, workspaceId }: AttemptTarget, lastPlace: number): void {
    for (const [other, row] of rows) {
      const [first] = row.waiting;
      if (other === webhookId || row.workspaceId !== workspaceId || row.running > 0 || !first) continue;
      // The other webhook began to wait later, or has had its turn since.
      if (first.since >= lastPlace || row.lastPlace >= lastPlace) continue;
      settled(() => {
        if (!first.isOver) report(`${webhookId} got two places while ${other}, with nothing running, waited`);
      });
    }
  }

  function leave(row: Row, wait: Wait): void {
    wait.isOver = true;
    row.waiting.splice(row.waiting.indexOf(wait), 1);
  }

  function start(target: AttemptTarget, row: Row): void {
    if (row.lastPlace > 0) check(target, row.lastPlace);
    row.lastPlace = moment();
    row.running += 1;
  }

  return {
    async acquire(target, waitMs, signal) {
      const row = rowOf(target);
      const wait: Wait = { since: moment(), isOver: false };
      row.waiting.push(wait);
      const place = await limiter.acquire(target, waitMs, signal).then(
        (given) => {
          leave(row, wait);
          if (given !== null) start(target, row);
          return given;
        },
        (error: unknown) => {
          leave(row, wait);
          throw error;
        },
      );
      if (place === null) return null;
      let isReleased = false;
      return {
        ...place,
        release() {
          if (!isReleased) row.running -= 1;
          isReleased = true;
          place.release();
        },
      };
    },
  };
}
