import type { AttemptLimiter } from '../../src/activities/deliveries/attempt-limiter.ts';

/** An attempt that waits, and since which moment. */
type Wait = { since: number; isOver: boolean };
/** The attempts of one webhook or workspace. `lastPlace`: the moment of the last place that it got; zero if none. */
type Row = { group: string; running: number; waiting: Wait[]; lastPlace: number };

/** `moment` counts the events of the world. `settled` calls back at the end of the current one. */
type Moments = { moment(): number; settled(check: () => void): void };

/** Checks the places of a worker: webhooks of a workspace take turns, and so do workspaces. */
export function watchPlaces(
  limiter: AttemptLimiter,
  moments: Moments,
  report: (what: string) => void,
): AttemptLimiter {
  const webhooks = createTurns(moments, report);
  const workspaces = createTurns(moments, report);

  return {
    async acquire(target, waitMs, signal) {
      const { webhookId, workspaceId } = target;
      const waits = [webhooks.join(webhookId, workspaceId), workspaces.join(workspaceId, '')];
      // At once, so that no other place is given between the end of a wait and the start of its attempt.
      const end = (isGiven: boolean) => {
        for (const one of waits) one.leave();
        if (isGiven) for (const one of waits) one.start();
      };
      const place = await limiter.acquire(target, waitMs, signal).then(
        (given) => {
          end(given !== null);
          return given;
        },
        (error: unknown) => {
          end(false);
          throw error;
        },
      );
      if (place === null) return null;
      let isReleased = false;
      return {
        ...place,
        release() {
          if (!isReleased) for (const one of waits) one.end();
          isReleased = true;
          place.release();
        },
      };
    },
  };
}

/**
 * Checks turns within groups. Nobody may get two places in a row if another one without a running attempt has waited since
 * before the first of them: then it was the turn of the other one. The order within a moment is unknown here.
 */
function createTurns({ moment, settled }: Moments, report: (what: string) => void) {
  const rows = new Map<string, Row>();

  function rowOf(name: string, group: string): Row {
    const row = rows.get(name) ?? { group, running: 0, waiting: [], lastPlace: 0 };
    rows.set(name, row);
    return row;
  }

  function check(name: string, { group, lastPlace }: Row): void {
    for (const [other, row] of rows) {
      const [first] = row.waiting;
      if (other === name || row.group !== group || row.running > 0 || !first) continue;
      // The other one began to wait later, or has had its turn since.
      if (first.since >= lastPlace || row.lastPlace >= lastPlace) continue;
      settled(() => {
        if (!first.isOver) report(`${name} got two places while ${other}, with nothing running, waited`);
      });
    }
  }

  return {
    /** Begins a wait for a place. */
    join(name: string, group: string) {
      const row = rowOf(name, group);
      const wait: Wait = { since: moment(), isOver: false };
      row.waiting.push(wait);
      return {
        leave() {
          wait.isOver = true;
          row.waiting.splice(row.waiting.indexOf(wait), 1);
        },
        start() {
          if (row.lastPlace > 0) check(name, row);
          row.lastPlace = moment();
          row.running += 1;
        },
        end: () => void (row.running -= 1),
      };
    },
  };
}
