import type { z } from 'zod';
import { problemsIn } from '../../src/domain/common/validation.ts';

/** Returns the problems that a schema finds in a body, as `<pointer> <code>`; empty if it is valid. */
export function foundIn(schema: z.ZodType, value: unknown): string[] {
  const { error } = schema.safeParse(value);
  return error ? problemsIn(error, value, 'body').map(({ pointer, code }) => `${pointer} ${code}`) : [];
}
