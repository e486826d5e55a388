/** Waits until all starts have succeeded or failed. So everything that was started is known and can be stopped. */
export async function waitForStarts<T>(starting: Promise<T>[]): Promise<{ up: T[]; check(): void }> {
  const settled = await Promise.allSettled(starting);
  const failures = settled.flatMap((one) => (one.status === 'rejected' ? [one.reason as Error] : []));
  return {
    up: settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : [])),
    /** @throws Error with the messages of all failures */
    check() {
      if (failures.length > 0) throw new Error(failures.map(({ message }) => message).join('\n\n'));
    },
  };
}
