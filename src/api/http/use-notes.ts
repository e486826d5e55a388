const AT_MOST_EVERY_MS = 60_000;
const REMEMBERED = 10_000;

/**
 * Notes the use of credentials, each at most once a minute and nobody waiting for it: the time it was last used
 * is for people to look at, and not worth a write with every request.
 */
export function createUseNotes(
  write: (id: string, at: Date) => Promise<void>,
  clock: () => Date,
  onError: (error: unknown) => void,
) {
  const noted = new Map<string, number>();
  return (id: string): void => {
    const at = clock();
    const before = noted.get(id);
    if (before !== undefined && at.getTime() - before < AT_MOST_EVERY_MS) return;
    if (noted.size >= REMEMBERED) noted.clear();
    noted.set(id, at.getTime());
    write(id, at).catch(onError);
  };
}
