/** How long one address is given before the next one is tried beside it, in milliseconds. */
const HEAD_START_MS = 500;

/**
 * Opens the first of several candidates that can be opened: in their order, the next one as soon as one fails or
 * takes longer than a head start, so that a silent first address does not use up the time of the others
 * (in the manner of RFC 8305). Whatever opens too late is given to `discard`. Rejects with the first failure when
 * all have failed. `candidates` must not be empty.
 */
export function firstToOpen<Candidate, Opened>(
  candidates: readonly Candidate[],
  open: (candidate: Candidate, signal: AbortSignal) => Promise<Opened>,
  discard: (opened: Opened) => void,
  signal: AbortSignal,
): Promise<Opened> {
  const [only] = candidates;
  if (only !== undefined && candidates.length === 1) return open(only, signal);
  const decided = new AbortController();
  const either = AbortSignal.any([signal, decided.signal]);
  const failures: unknown[] = [];
  const waiting = [...candidates];
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined;
    const failed = (error: unknown) => {
      failures.push(error);
      if (failures.length === candidates.length) reject(failures[0]);
      else startNext();
    };
    const opened = (winner: Opened) => {
      if (decided.signal.aborted) return discard(winner);
      clearTimeout(timer);
      waiting.length = 0;
      resolve(winner);
      decided.abort();
    };
    const startNext = () => {
      clearTimeout(timer);
      const candidate = waiting.shift();
      if (candidate === undefined) return;
      if (waiting.length > 0) timer = setTimeout(startNext, HEAD_START_MS);
      open(candidate, either).then(opened, failed);
    };
    startNext();
  });
}
