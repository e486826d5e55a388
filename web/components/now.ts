import { useSyncExternalStore } from 'react';

/** Creates a clock for all shown times. It ticks only while it has subscribers and the page is visible. */
function createClock(everyMs: number) {
  let now = Date.now();
  let ticking: ReturnType<typeof setInterval> | undefined;
  const readers = new Set<() => void>();
  const tick = () => {
    if (document.hidden) return;
    now = Date.now();
    for (const reader of readers) reader();
  };
  return {
    read: () => now,
    subscribe(reader: () => void) {
      if (readers.size === 0) now = Date.now();
      readers.add(reader);
      ticking ??= setInterval(tick, everyMs);
      return () => {
        readers.delete(reader);
        if (readers.size > 0) return;
        clearInterval(ticking);
        ticking = undefined;
      };
    },
  };
}

const slow = createClock(5_000);
const quick = createClock(500);

/** Returns the time in milliseconds since 1970, updated every 5 seconds, or twice a second if `quick`. */
export function useNow(pace: 'slow' | 'quick' = 'slow'): number {
  const clock = pace === 'quick' ? quick : slow;
  return useSyncExternalStore(clock.subscribe, clock.read);
}

/**
 * Returns the text of the time, updated every 5 seconds. A component renders only if its text has changed: a long list has
 * thousands of them.
 */
export function useTextOfNow(textOf: (now: number) => string): string {
  return useSyncExternalStore(slow.subscribe, () => textOf(slow.read()));
}
