/** Entries of a cache, at most. The oldest is removed for a new one. */
const MAX_ENTRIES = 1_000;

/** A cache for answers that are expensive to read and may be slightly outdated. */
export type AnswerCache<Answer> = {
  /**
   * Returns the answer for `key`, read by `load` if necessary. Concurrent callers share one `load`. Failures are not
   * cached.
   */
  find(key: string, load: () => Promise<Answer>): Promise<Answer>;
};

/**
 * Creates a cache for one process. `ttlMsOf` returns how long an answer is valid, in milliseconds; 0: not cached. `now`
 * returns monotonic milliseconds.
 */
export function createAnswerCache<Answer>(
  ttlMsOf: (answer: Answer) => number,
  now = () => performance.now(),
): AnswerCache<Answer> {
  const entries = new Map<string, { answer: Answer; until: number }>();
  const loading = new Map<string, Promise<Answer>>();

  async function loadFresh(key: string, load: () => Promise<Answer>): Promise<Answer> {
    entries.delete(key);
    const answer = await load();
    const ttlMs = ttlMsOf(answer);
    if (ttlMs > 0) keep(key, answer, ttlMs);
    return answer;
  }

  function keep(key: string, answer: Answer, ttlMs: number): void {
    const [oldest] = entries.keys();
    if (entries.size >= MAX_ENTRIES && oldest !== undefined) entries.delete(oldest);
    entries.set(key, { answer, until: now() + ttlMs });
  }

  return {
    async find(key, load) {
      const before = entries.get(key);
      if (before && now() < before.until) return before.answer;
      const underWay = loading.get(key);
      if (underWay) return await underWay;
      const finding = loadFresh(key, load).finally(() => loading.delete(key));
      loading.set(key, finding);
      return await finding;
    },
  };
}
