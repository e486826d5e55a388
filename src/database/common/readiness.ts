import type { Database } from '../database.ts';

const ANSWER_WITHIN_MS = 1_500;

/** The state of a dependency of the process, with the reason of a failure. */
export type DependencyStatus = { status: 'ok' | 'failing'; reason: string | null };

/** Checks PostgreSQL and, by `engineReady`, Temporal, concurrently and with a short timeout. */
export async function checkReadiness(
  database: Pick<Database, 'em'>,
  engineReady: () => Promise<unknown>,
): Promise<{ postgres: DependencyStatus; temporal: DependencyStatus }> {
  const [postgres, temporal] = await Promise.all([
    checked('PostgreSQL', database.em.fork().execute('select 1')),
    checked('Temporal', engineReady()),
  ]);
  return { postgres, temporal };
}

async function checked(name: string, attempt: Promise<unknown>): Promise<DependencyStatus> {
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
