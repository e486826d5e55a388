import type { z } from 'zod';
import { problemsIn } from '../../domain/common/validation.ts';
import { Problem } from './problem.ts';

/**
 * Returns the validated value.
 * @throws Problem `validation_failed` for a body, `bad_request` for a query, with all issues
 */
export function validated<T>(schema: z.ZodType<T>, value: unknown, where: 'body' | 'query'): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const errors = problemsIn(result.error, value, where);
  const [code, what] =
    where === 'body' ? (['validation_failed', 'body'] as const) : (['bad_request', 'query'] as const);
  const count = errors.length === 1 ? '1 error' : `${errors.length} errors`;
  throw new Problem(code, `${count} in the ${what}: ${errors.map(({ message }) => message).join(' ')}`, {
    errors,
  });
}
