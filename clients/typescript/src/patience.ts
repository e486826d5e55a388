import { backoff, isPassing } from './retry.ts';

const PATIENCE_MS = 60_000;

/** Decides for how long a service that is away is tried again. */
export type Patience = {
  /** It has answered. */
  restored(): void;
  /** It has not: milliseconds until the next try. @throws the error where it won't pass, or patience is over */
  afterFailure(error: unknown): number;
};

/** `patienceMs` counts from the first failure behind the last answer. */
export function createPatience(random: () => number, patienceMs: number = PATIENCE_MS): Patience {
  let failures = 0;
  let since = 0;
  return {
    restored() {
      failures = 0;
    },
    afterFailure(error) {
      if (failures === 0) since = Date.now();
      failures += 1;
      if (!isPassing(error) || Date.now() - since >= patienceMs) throw error;
      return backoff(failures, random);
    },
  };
}
