type Closing = () => Promise<unknown>;

const closing: Closing[] = [];

/**
 * Returns a function that starts a resource at its first call and returns the same one at every later call in this lane.
 * It is closed after the lane's last file, or after a file with a failed test. The next call then starts a new one.
 */
export function sharedInLane<T>(
  start: () => Promise<T>,
  close: (started: T) => Promise<unknown>,
): () => Promise<T> {
  let started: Promise<T> | null = null;
  return () => {
    if (started === null) {
      const starting = (started = start());
      closing.push(async () => {
        started = null;
        // A start that failed has already failed the test that needed it.
        await starting.then(close, () => {});
      });
    }
    return started;
  };
}

/** Closes all shared resources of this lane, the latest first. */
export async function closeShared(): Promise<void> {
  for (let close = closing.pop(); close !== undefined; close = closing.pop()) await close();
}
