/** Waits. @throws the signal's reason as soon as it is aborted */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason as Error);
    const end = () => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', end);
      resolve();
    }, ms);
    signal?.addEventListener('abort', end, { once: true });
  });
}

/** A signal that is aborted with another one, or when its time is over. */
export type Limit = {
  signal: AbortSignal;
  /** Begins the time anew. */
  restart(ms: number): void;
  /** Takes the limit of time away; the other signal still counts. */
  lift(): void;
  /** To be called at the end, so that nothing stays behind. */
  release(): void;
};

/** A limit of `ms` milliseconds; its signal's reason is a `TimeoutError` then. */
export function limited(ms: number, outer?: AbortSignal): Limit {
  const controller = new AbortController();
  const end = () => controller.abort(new DOMException(`Nothing came within ${ms} ms.`, 'TimeoutError'));
  const pass = () => controller.abort(outer?.reason);
  let timer = setTimeout(end, ms);
  const lift = () => clearTimeout(timer);
  if (outer?.aborted) pass();
  else outer?.addEventListener('abort', pass, { once: true });
  return {
    signal: controller.signal,
    restart(again) {
      lift();
      timer = setTimeout(end, again);
    },
    lift,
    release() {
      lift();
      outer?.removeEventListener('abort', pass);
    },
  };
}
