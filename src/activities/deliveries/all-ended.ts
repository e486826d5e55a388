/** Waits for the end of all attempts, so that none is left behind. @throws what the first failed one threw */
export async function allEnded(attempts: Iterable<Promise<void>>): Promise<void> {
  const settled = await Promise.allSettled(attempts);
  const failed = settled.find((one) => one.status === 'rejected');
  if (failed) throw failed.reason;
}
