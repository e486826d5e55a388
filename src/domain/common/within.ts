/** Returns the result of the work; `'late'` if it takes longer than `ms` milliseconds. The work then continues. */
export async function within<T>(ms: number, work: Promise<T>): Promise<T | 'late'> {
  let timer: NodeJS.Timeout | undefined;
  const moment = new Promise<'late'>((resolve) => {
    timer = setTimeout(() => resolve('late'), ms);
  });
  try {
    return await Promise.race([work, moment]);
  } finally {
    clearTimeout(timer);
  }
}
