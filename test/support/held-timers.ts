import { mock } from 'node:test';

/** Timers of one duration that end on the test's command. Dispose of them to have the real ones again. */
export type HeldTimers = Disposable & {
  /** Returns how many timers are held. */
  count(): number;
  /** Ends the held timers, as if their time was over. */
  fire(): void;
};

/**
 * Holds back the timers of exactly `ms` milliseconds in this process; others keep the real clock, which services in the same
 * process need.
 */
export function holdTimers(ms: number): HeldTimers {
  const held = new Map<unknown, () => void>();
  const real = { setTimeout, clearTimeout };
  const set = (work: () => void, wantedMs?: number) => {
    const isHeld = wantedMs === ms;
    const timer = real.setTimeout(isHeld ? () => {} : work, wantedMs);
    if (isHeld) held.set(timer, work);
    return timer;
  };
  const clear = (timer?: NodeJS.Timeout) => {
    held.delete(timer);
    real.clearTimeout(timer);
  };
  const mocked = [
    mock.method(globalThis, 'setTimeout', set as typeof setTimeout),
    mock.method(globalThis, 'clearTimeout', clear as typeof clearTimeout),
  ];
  return {
    count: () => held.size,
    fire() {
      const due = [...held.values()];
      held.clear();
      for (const work of due) work();
    },
    [Symbol.dispose]() {
      for (const one of mocked) one.mock.restore();
    },
  };
}
