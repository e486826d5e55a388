import { setTimeout as wait } from 'node:timers/promises';

/** What was answered; null where nothing was. */
export type Answer = {
  status: number;
  // oxlint-disable-next-line typescript/no-explicit-any -- answers of every shape
  json: any;
} | null;

/** Speaks HTTP with the service as its callers do. */
export type Caller = {
  /** Asks one of the APIs. Answers null where the way was cut or nothing came in time. */
  ask(
    method: string,
    path: string,
    asked?: { body?: unknown; headers?: Record<string, string> },
  ): Promise<Answer>;
  /** Asks until the answer is one of these statuses or `isOver`, which makes it null. */
  insist(
    method: string,
    path: string,
    asked: { body?: unknown; headers?: Record<string, string>; until: readonly number[] },
    isOver?: () => boolean,
  ): Promise<Answer>;
  /** How many requests were answered, refused with 503, and cut off. */
  tally: Readonly<{ answered: number; refused: number; cut: number }>;
  /** Answers that no document promises, in words. */
  strange: readonly string[];
};

const ANSWER_LIMIT_MS = 20_000;
const AGAIN_MS = 400;
/** What may be answered to anything here: done, in conflict, too fast, or for the moment unavailable. */
const PROMISED = new Set([200, 201, 202, 204, 409, 429, 503]);

/** A caller of these APIs, of which each request takes the next. */
export function createCaller(urls: readonly string[], apiKey: string): Caller {
  const tally = { answered: 0, refused: 0, cut: 0 };
  const strange: string[] = [];
  let turn = 0;

  const ask: Caller['ask'] = async (method, path, { body, headers = {} } = {}) => {
    const url = urls[turn++ % urls.length] ?? '';
    try {
      const response = await fetch(`${url}${path}`, {
        method,
        headers: {
          'X-API-Key': apiKey,
          ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(ANSWER_LIMIT_MS),
      });
      const text = await response.text();
      const { status } = response;
      if (status === 503) tally.refused += 1;
      else tally.answered += 1;
      if (!PROMISED.has(status))
        strange.push(`${method} ${path} was answered ${status}: ${text.slice(0, 300)}`);
      return { status, json: text === '' ? null : JSON.parse(text) };
    } catch {
      tally.cut += 1;
      return null;
    }
  };
  return {
    ask,
    tally,
    strange,
    async insist(method, path, { until, ...asked }, isOver = () => false) {
      for (;;) {
        const answer = await ask(method, path, asked);
        if (answer && until.includes(answer.status)) return answer;
        if (isOver()) return null;
        await wait(AGAIN_MS);
      }
    },
  };
}
