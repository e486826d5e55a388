import { useSyncExternalStore } from 'react';

/** One clock for all that shows times, which ticks only while somebody looks. */
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

/** The time in milliseconds since 1970, new every 5 seconds, or twice a second where something runs. */
export function useNow(pace: 'slow' | 'quick' = 'slow'): number {
  const clock = pace === 'quick' ? quick : slow;
  return useSyncExternalStore(clock.subscribe, clock.read);
}
