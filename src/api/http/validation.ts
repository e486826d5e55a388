import type { z } from 'zod';
import { MAX_ERRORS } from '../../domain/common/limits.ts';
import { countProblems, problemsIn } from '../../domain/common/validation.ts';
import { Problem } from './problem.ts';

/**
 * Returns the validated value.
 * @throws Problem `validation_failed` for a body, `bad_request` for a query, with at most
 * {@link MAX_ERRORS} errors: a small request must not cause a long response
 */
export function validated<T>(schema: z.ZodType<T>, value: unknown, where: 'body' | 'query'): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const errors = problemsIn(result.error, value, where, MAX_ERRORS);
  const total = countProblems(result.error);
  const [code, what] =
    where === 'body' ? (['validation_failed', 'body'] as const) : (['bad_request', 'query'] as const);
  const count = total === 1 ? '1 error' : `${total} errors`;
  const which = total > errors.length ? `, the first ${errors.length}` : '';
  throw new Problem(
    code,
    `${count} in the ${what}${which}: ${errors.map(({ message }) => message).join(' ')}`,
    {
      errors,
    },
  );
}

/** Returns the problem of a query with one unknown parameter. */
export function unknownParameter(name: string): Problem {
  const message = `\`${name}\` is not a known parameter.`;
  const errors = [{ parameter: name, code: 'unknown_member' as const, message }];
  return new Problem('bad_request', `1 error in the query: ${message}`, { errors });
}
