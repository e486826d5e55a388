import type { Clock } from './clock.ts';
import type { Random } from './random.ts';

/** Temporary faults of a part of the world: the probability that a call fails. */
export type Faults = {
  /** From now on for `ms`, calls fail with this probability. */
  begin(ms: number, probability: number): void;
  isOn(): boolean;
  /** What happens to the next call: its request is lost, its response is lost, or nothing. */
  next(): 'lost request' | 'lost response' | null;
  /** A time in milliseconds: mostly short, sometimes long during faults. */
  delay(most: number): number;
};

export function createFaults(clock: Clock, random: Random): Faults {
  let until = Number.NEGATIVE_INFINITY;
  let likely = 0;
  const isOn = () => clock.now() < until;
  return {
    begin(ms, probability) {
      until = clock.now() + ms;
      likely = probability;
    },
    isOn,
    next() {
      if (!isOn() || !random.chance(likely)) return null;
      return random.chance(0.5) ? 'lost request' : 'lost response';
    },
    delay: (most) => random.between(1, isOn() && random.chance(0.2) ? most * 20 : most),
  };
}
