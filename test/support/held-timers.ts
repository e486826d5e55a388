/**
 * Timers that hold back those of exactly `ms` milliseconds until `fire` is called; others keep the real clock, which services
 * in the same process need. A test replaces the timers of `globalThis` with them.
 */
export function heldTimers(ms: number) {
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
  return {
    setTimeout: set as typeof setTimeout,
    clearTimeout: clear as typeof clearTimeout,
    /** Returns how many timers are held. */
    count: () => held.size,
    /** Ends the held timers, as if their time was over. */
    fire(): void {
      const due = [...held.values()];
      held.clear();
      for (const work of due) work();
    },
  };
}
