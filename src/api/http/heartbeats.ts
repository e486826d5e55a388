/** A comment keeps proxies from closing a quiet stream. */
const HEARTBEAT = ': still here\n\n';
/** How long a stream is quiet before a heartbeat, in milliseconds. */
const HEARTBEAT_MS = 15_000;

/** Yields texts of server-sent events as they come, and a heartbeat after every `quietMs` milliseconds without one. */
export async function* withHeartbeats(
  texts: AsyncGenerator<string>,
  quietMs = HEARTBEAT_MS,
): AsyncGenerator<string> {
  let next = texts.next();
  try {
    for (;;) {
      const result = await withinQuiet(next, quietMs);
      if (result === null) {
        yield HEARTBEAT;
        continue;
      }
      if (result.done === true) return;
      yield result.value;
      next = texts.next();
    }
  } finally {
    await texts.return(undefined);
  }
}

async function withinQuiet<T>(next: Promise<T>, quietMs: number): Promise<T | null> {
  const { promise, resolve } = Promise.withResolvers<null>();
  const timer = setTimeout(() => resolve(null), quietMs);
  try {
    return await Promise.race([next, promise]);
  } finally {
    clearTimeout(timer);
  }
}
