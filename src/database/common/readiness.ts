import type { Database } from '../database.ts';

const ANSWER_WITHIN_MS = 1_500;

/** Whether something that a process stands on answers, and why not, in words for people. */
export type Check = { status: 'ok' | 'failing'; reason: string | null };

/** Asks PostgreSQL and, by `engineReady`, Temporal whether they answer, side by side and not for long. */
export async function readinessOf(
  database: Pick<Database, 'em'>,
  engineReady: () => Promise<unknown>,
): Promise<{ postgres: Check; temporal: Check }> {
  const [postgres, temporal] = await Promise.all([
    checked('PostgreSQL', database.em.fork().execute('select 1')),
    checked('Temporal', engineReady()),
  ]);
  return { postgres, temporal };
}

async function checked(name: string, attempt: Promise<unknown>): Promise<Check> {
  const { promise, resolve } = Promise.withResolvers<'late'>();
  const timer = setTimeout(resolve, ANSWER_WITHIN_MS, 'late');
  try {
    const outcome = await Promise.race([attempt, promise]);
    const late = {
      status: 'failing',
      reason: `${name} did not respond within ${ANSWER_WITHIN_MS} ms.`,
    } as const;
    return outcome === 'late' ? late : { status: 'ok', reason: null };
  } catch {
    return { status: 'failing', reason: `${name} is unreachable.` };
  } finally {
    clearTimeout(timer);
  }
}
