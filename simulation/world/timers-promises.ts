/* Replaces `node:timers/promises` in production code, by the clock of the world. */

export function setTimeout<T>(
  ms: number,
  value?: T,
  { signal }: { signal?: AbortSignal } = {},
): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const timer = globalThis.setTimeout(() => resolve(value), ms);
    const abort = () => {
      clearTimeout(timer);
      reject(new DOMException('the wait was aborted', 'AbortError'));
    };
    if (signal?.aborted) abort();
    signal?.addEventListener('abort', abort, { once: true });
  });
}
