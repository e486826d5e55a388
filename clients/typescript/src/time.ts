/**
 * Waits `ms` milliseconds.
 * @throws the signal's reason as soon as the signal is aborted
 */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason as Error);
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

/** A time limit for a request. Its signal is aborted when the time is over, or together with an outer signal. */
export type Timeout = {
  signal: AbortSignal;
  /** Starts the time again with a new limit, in milliseconds. */
  restart(ms: number): void;
  /** Removes the time limit. The outer signal still applies. */
  lift(): void;
  /** Removes the timer and the listener on the outer signal. Call it when the request is complete. */
  release(): void;
};

/** Starts a time limit of `ms` milliseconds. After that time, the reason of its signal is a `TimeoutError`. */
export function startTimeout(ms: number, outer?: AbortSignal): Timeout {
  const controller = new AbortController();
  const expire = (limitMs: number) =>
    controller.abort(new DOMException(`No data was received within ${limitMs} ms.`, 'TimeoutError'));
  const abort = () => controller.abort(outer?.reason);
  let timer = setTimeout(expire, ms, ms);
  const lift = () => clearTimeout(timer);
  if (outer?.aborted) abort();
  else outer?.addEventListener('abort', abort, { once: true });
  return {
    signal: controller.signal,
    restart(limitMs) {
      lift();
      timer = setTimeout(expire, limitMs, limitMs);
    },
    lift,
    release() {
      lift();
      outer?.removeEventListener('abort', abort);
    },
  };
}
