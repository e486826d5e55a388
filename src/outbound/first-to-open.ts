/** Time until the next address is tried in parallel, in milliseconds. */
const HEAD_START_MS = 500;

/**
 * Returns the first of several candidates that opens. They are tried in order: the next one starts as soon as one
 * fails or is silent for a head start (similar to RFC 8305). Connections that open too late are passed to `discard`.
 * Rejects with the first failure if all fail. `candidates` must not be empty.
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
