import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { Order, Report, Speech } from './channel-viewers.ts';

/** What viewers saw since they were asked before. */
export type Seen = { received: number; lags: number[]; faults: number };

/** Viewers in processes of their own. */
export type Viewers = {
  open(runs: string[], count: number, speech?: Speech): Promise<void>;
  /** Waits until so many events have come, over all connections. @throws where they do not within a minute */
  haveSeen(count: number): Promise<Seen>;
  close(): Promise<void>;
  /** Ends the processes. */
  end(): void;
};

const EACH = 500;
const LIMIT_MS = 60_000;

/** `url` and `token`: where the viewers go and with what; up to 500 of them share a process. */
export async function startViewers(url: string, token: string, most: number): Promise<Viewers> {
  const children = Array.from({ length: Math.ceil(most / EACH) }, () =>
    fork(join(import.meta.dirname, 'channel-viewers.ts')),
  );
  const failed = Promise.race(
    children.map(async (child) => {
      await once(child, 'exit');
      throw new Error('viewers ended; what they said stands above');
    }),
  );
  // It may happen while nobody asks, and is met by the next one who does.
  failed.catch(() => {});
  const hear = async (child: ChildProcess) => (await Promise.race([once(child, 'message'), failed]))[0];
  await Promise.all(children.map(hear));
  const ask = async <T extends Report>(child: ChildProcess, order: Order): Promise<T> => {
    child.send(order);
    return (await hear(child)) as T;
  };
  const viewers: Viewers = {
    async open(runs, count, speech = 'plain') {
      const wanted = children.map((_, index) => Math.max(0, Math.min(EACH, count - index * EACH)));
      await Promise.all(
        children.map((child, index) =>
          ask(child, { do: 'open', url, token, runs, count: wanted[index] ?? 0, speech }),
        ),
      );
      await viewers.haveSeen(0);
    },
    async haveSeen(count) {
      const all: Seen = { received: 0, lags: [], faults: 0 };
      for (const until = Date.now() + LIMIT_MS; ; await wait(20)) {
        for (const child of children) {
          const { received, lags, faults } = await ask<Seen>(child, { do: 'look' });
          all.received += received;
          all.faults += faults;
          for (const lag of lags) all.lags.push(lag);
        }
        if (all.received >= count) return all;
        if (Date.now() > until) throw new Error(`${all.received} of ${count} events came`);
      }
    },
    async close() {
      await Promise.all(children.map((child) => ask(child, { do: 'close' })));
    },
    end() {
      for (const child of children) child.disconnect();
    },
  };
  return viewers;
}
