/** So many answers are kept at once; the oldest makes room. */
const MAX_ENTRIES = 1_000;

/** Answers that may be a while old where finding them is a burden for the database. */
export type AnswerCache<Answer> = {
  /**
   * What `look` finds for `key`. Who asks while it is being found gets the same answer, and so does who asks while it
   * serves. What fails is not kept.
   */
  find(key: string, load: () => Promise<Answer>): Promise<Answer>;
};

/**
 * Keeps answers for one process. `servesMs` says for how many milliseconds an answer serves, 0 where it is found anew each
 * time; `now` tells milliseconds that never go back.
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
