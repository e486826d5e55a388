const INTERVAL_MS = 60_000;
const MAX_REMEMBERED = 10_000;

/**
 * Records the last use of credentials, each at most once a minute and without making requests wait: a write for each
 * request would be too expensive.
 */
export function createUsageRecorder(
  write: (id: string, at: Date) => Promise<void>,
  clock: () => Date,
  onError: (error: unknown) => void,
) {
  const recordedAt = new Map<string, number>();
  return (id: string): void => {
    const at = clock();
    const before = recordedAt.get(id);
    if (before !== undefined && at.getTime() - before < INTERVAL_MS) return;
    if (recordedAt.size >= MAX_REMEMBERED) recordedAt.clear();
    recordedAt.set(id, at.getTime());
    write(id, at).catch(onError);
  };
}
