/** Codes of Node and of PostgreSQL (classes 08, 53, 57P) that say: the database is not there at the moment. */
const NODE_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ETIMEDOUT',
  'EPIPE',
  'ENOENT',
]);
const POSTGRES_CODES = /^(08...|53...|57P0[1-5])$/;
const DRIVER_MESSAGES =
  /connection terminated|timeout exceeded when trying to connect|client has encountered a connection error|connection error and is not queryable/i;

/** True where an error of a statement means that PostgreSQL is out of reach, and not that the statement is wrong. */
export function isDatabaseOutage(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code } = error as { code?: unknown };
  if (typeof code === 'string' && (NODE_CODES.has(code) || POSTGRES_CODES.test(code))) return true;
  if (DRIVER_MESSAGES.test(error.message)) return true;
  if (error instanceof AggregateError && error.errors.some(isDatabaseOutage)) return true;
  return error.cause !== undefined && error.cause !== error && isDatabaseOutage(error.cause);
}

/** True where a row with the same primary or unique key is there already. */
export function isDuplicate(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return (
    (error as { code?: unknown }).code === '23505' || (error.cause !== undefined && isDuplicate(error.cause))
  );
}

/** True where a row points at one that is not there. */
export function isForeignKeyMissing(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return (
    (error as { code?: unknown }).code === '23503' ||
    (error.cause !== undefined && isForeignKeyMissing(error.cause))
  );
}

/** True where two transactions waited for each other and this one was ended: it may be done again. */
export function isDeadlock(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return (
    (error as { code?: unknown }).code === '40P01' || (error.cause !== undefined && isDeadlock(error.cause))
  );
}
