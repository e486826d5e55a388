/** So many answers are kept at once; the oldest makes room. */
const MOST_KEPT = 1_000;

/** Answers that may be a while old where finding them is a burden for the database. */
export type KeptAnswers<Answer> = {
  /**
   * What `look` finds for `key`. Who asks while it is being found gets the same answer, and so does who asks while it
   * serves. What fails is not kept.
   */
  find(key: string, look: () => Promise<Answer>): Promise<Answer>;
};

/**
 * Keeps answers for one process. `servesMs` says for how many milliseconds an answer serves, 0 where it is found anew each
 * time; `now` tells milliseconds that never go back.
 */
export function createKeptAnswers<Answer>(
  servesMs: (answer: Answer) => number,
  now = () => performance.now(),
): KeptAnswers<Answer> {
  const kept = new Map<string, { answer: Answer; until: number }>();
  const beingFound = new Map<string, Promise<Answer>>();

  async function findAnew(key: string, look: () => Promise<Answer>): Promise<Answer> {
    kept.delete(key);
    const answer = await look();
    const serves = servesMs(answer);
    if (serves > 0) keep(key, answer, serves);
    return answer;
  }

  function keep(key: string, answer: Answer, serves: number): void {
    const [oldest] = kept.keys();
    if (kept.size >= MOST_KEPT && oldest !== undefined) kept.delete(oldest);
    kept.set(key, { answer, until: now() + serves });
  }

  return {
    async find(key, look) {
      const before = kept.get(key);
      if (before && now() < before.until) return before.answer;
      const underWay = beingFound.get(key);
      if (underWay) return await underWay;
      const finding = findAnew(key, look).finally(() => beingFound.delete(key));
      beingFound.set(key, finding);
      return await finding;
    },
  };
}
