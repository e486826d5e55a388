import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { ViewerCommand, ViewerReport, Protocol } from './channel-viewers.ts';

/** Counts of the viewers since the last report. */
export type ViewerCounts = { received: number; latencies: number[]; errors: number };

/** Viewers in separate processes. */
export type Viewers = {
  open(runs: string[], count: number, protocol?: Protocol): Promise<void>;
  /** Waits until `count` events have arrived, over all connections. @throws after a minute */
  waitForEvents(count: number): Promise<ViewerCounts>;
  close(): Promise<void>;
  /** Ends the processes. */
  end(): void;
};

const VIEWERS_PER_PROCESS = 500;
const TIMEOUT_MS = 60_000;

/** Starts processes for at most `most` viewers, 500 in each. `url` and `token`: for their connections. */
export async function startViewers(url: string, token: string, most: number): Promise<Viewers> {
  const children = Array.from({ length: Math.ceil(most / VIEWERS_PER_PROCESS) }, () =>
    fork(join(import.meta.dirname, 'channel-viewers.ts')),
  );
  const failed = Promise.race(
    children.map(async (child) => {
      await once(child, 'exit');
      throw new Error('viewers exited; their output is above');
    }),
  );
  // It may happen between two commands. The next command reports it.
  failed.catch(() => {});
  const receive = async (child: ChildProcess) => (await Promise.race([once(child, 'message'), failed]))[0];
  await Promise.all(children.map(receive));
  const ask = async <T extends ViewerReport>(child: ChildProcess, order: ViewerCommand): Promise<T> => {
    child.send(order);
    return (await receive(child)) as T;
  };
  const viewers: Viewers = {
    async open(runs, count, protocol = 'plain') {
      const wanted = children.map((_, index) =>
        Math.max(0, Math.min(VIEWERS_PER_PROCESS, count - index * VIEWERS_PER_PROCESS)),
      );
      await Promise.all(
        children.map((child, index) =>
          ask(child, { do: 'open', url, token, runs, count: wanted[index] ?? 0, protocol }),
        ),
      );
      await viewers.waitForEvents(0);
    },
    async waitForEvents(count) {
      const all: ViewerCounts = { received: 0, latencies: [], errors: 0 };
      for (const until = Date.now() + TIMEOUT_MS; ; await wait(20)) {
        for (const child of children) {
          const { received, latencies, errors } = await ask<ViewerCounts>(child, { do: 'report' });
          all.received += received;
          all.errors += errors;
          for (const lag of latencies) all.latencies.push(lag);
        }
        if (all.received >= count) return all;
        if (Date.now() > until) throw new Error(`${all.received} of ${count} events arrived`);
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
