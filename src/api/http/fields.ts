import { z } from 'zod';
import { DEFAULT_PAGE, MAX_PAGE } from '../../domain/common/limits.ts';
import { fieldProblem, shownAs, uuid } from '../../domain/common/schema-parts.ts';

export {
  givenTime,
  fieldProblem,
  shownAs,
  text,
  timestamp,
  uuid,
  uuidOut,
} from '../../domain/common/schema-parts.ts';

/** Returns the schema of a whole number in a query. */
export function integerParameter(least: number, most: number) {
  return z
    .string()
    .superRefine((value, context) => {
      if (!/^\d{1,15}$/.test(value) || Number(value) < least || Number(value) > most) {
        context.addIssue(fieldProblem('not_allowed', `must be a whole number from ${least} to ${most}`));
      }
    })
    .transform(Number)
    .meta(shownAs({ type: 'integer', minimum: least, maximum: most }));
}

/** Returns the schema of the hours during which a replaced secret stays valid. */
export function overlapHours(most: number) {
  return z
    .number()
    .superRefine((hours, context) => {
      if (hours < 0 || hours > most) {
        context.addIssue(fieldProblem('not_allowed', `must be from 0 to ${most}`));
      }
    })
    .meta({ minimum: 0, maximum: most });
}

/** Returns the schema of a query parameter with one or more of the values, repeated or separated by commas. */
export function listParameter<const T extends string>(values: readonly T[]) {
  return z
    .union([z.string(), z.array(z.string())])
    .transform((given, context) => {
      const words = [given].flat().flatMap((entry) => entry.split(','));
      const wrong = words.filter((word) => !(values as readonly string[]).includes(word));
      if (wrong.length > 0) {
        context.addIssue(fieldProblem('not_allowed', `must be one or more of ${values.join(', ')}`));
      }
      return [...new Set(words as T[])];
    })
    .meta(shownAs({ type: 'array', items: { type: 'string', enum: [...values] } }));
}

/** `?limit=` and `?cursor=` of all paged lists. The cursor is the last id of the previous page. */
export const pageParameters = {
  limit: integerParameter(1, MAX_PAGE).optional().describe(`Rows per page; default: ${DEFAULT_PAGE}`),
  cursor: uuid.optional().describe('`next_cursor` of the previous page'),
};

/** Returns the schema of a page. */
export function pageOf<T extends z.ZodType>(row: T) {
  return z.strictObject({
    data: z.array(row),
    next_cursor: z.string().nullable().describe('Cursor of the next page; null on the last page'),
  });
}

/** Cuts a page from rows that were read with a limit of one more, which shows whether there is another page. */
export function cutPage<T extends { id: string }>(
  rows: readonly T[],
  limit: number,
): { rows: T[]; nextCursor: string | null } {
  const page = rows.slice(0, limit);
  return { rows: page, nextCursor: rows.length > limit ? (page.at(-1)?.id ?? null) : null };
}
