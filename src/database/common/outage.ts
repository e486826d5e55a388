/**
 * Error codes of Node and of PostgreSQL for an unavailable database: classes 08, 53 and 57P, the codes of its time limits (25P03,
 * 55P03, 57014), and 25006 of a standby that is not primary yet.
 */
const NODE_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ETIMEDOUT',
  'EPIPE',
  'ENOENT',
]);
const POSTGRES_CODES = /^(08...|53...|57P0[1-5]|25006|25P03|55P03|57014)$/;
const DRIVER_MESSAGES =
  /connection terminated|^timeout expired$|timeout exceeded when trying to connect|client has encountered a connection error|connection error and is not queryable/i;

/** Returns whether an error means that PostgreSQL is unavailable, not that the statement is wrong. */
export function isDatabaseOutage(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code } = error as { code?: unknown };
  if (typeof code === 'string' && (NODE_CODES.has(code) || POSTGRES_CODES.test(code))) return true;
  if (DRIVER_MESSAGES.test(error.message)) return true;
  if (error instanceof AggregateError && error.errors.some(isDatabaseOutage)) return true;
  return error.cause !== error && isDatabaseOutage(error.cause);
}

/** Returns the code of an error of PostgreSQL about a value that it does not accept (class 22); else null. */
export function refusedDataCode(error: unknown): string | null {
  if (!(error instanceof Error)) return null;
  const { code } = error as { code?: unknown };
  if (typeof code === 'string' && /^22[0-9A-Z]{3}$/.test(code)) return code;
  return error.cause === error ? null : refusedDataCode(error.cause);
}

/** Returns whether an error means that a row with the same primary or unique key exists. */
export function isDuplicate(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return (error as { code?: unknown }).code === '23505' || isDuplicate(error.cause);
}

/** Returns whether an error means that a referenced row does not exist. */
export function isForeignKeyMissing(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return (error as { code?: unknown }).code === '23503' || isForeignKeyMissing(error.cause);
}

/** Returns whether PostgreSQL ended this transaction because of a deadlock. It may be repeated. */
export function isDeadlock(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return (error as { code?: unknown }).code === '40P01' || isDeadlock(error.cause);
}

/** Tries of {@link retryOnDeadlock}. */
const TRIES = 5;

/** Repeats a transaction that PostgreSQL rolled back because of a deadlock. */
export async function retryOnDeadlock<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let tried = 1; ; tried += 1) {
    try {
      return await work();
    } catch (error) {
      if (!isDeadlock(error) || tried === TRIES) throw error;
    }
  }
}
