/**
 * What came of several starts side by side: all are awaited before any is judged, so that whatever has started is
 * known and can be stopped.
 */
export async function settle<T>(starting: Promise<T>[]): Promise<{ up: T[]; check(): void }> {
  const settled = await Promise.allSettled(starting);
  const failures = settled.flatMap((one) => (one.status === 'rejected' ? [one.reason as Error] : []));
  return {
    up: settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : [])),
    /** @throws one error with the sentences of all that failed */
    check() {
      if (failures.length > 0) throw new Error(failures.map(({ message }) => message).join('\n\n'));
    },
  };
}
