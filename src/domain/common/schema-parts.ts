import { z } from 'zod';
import type { MemberProblem } from './problem-codes.ts';
import { isStorableText } from './text.ts';

/** A UUID in an answer. */
export const uuidOut = z.string().meta({ format: 'uuid' });

/** A time in an answer: ISO 8601 UTC with milliseconds. */
export const timestamp = z.string().meta({ format: 'date-time', examples: ['2026-01-31T12:00:00.000Z'] });

/** How the OpenAPI document shows a schema whose own form would say less, or too much; a description stays. */
export function shownAs(shape: Record<string, unknown>) {
  const override = ({ jsonSchema }: { jsonSchema: Record<string, unknown> }): void => {
    for (const name of Object.keys(jsonSchema)) {
      if (name !== 'description') delete jsonSchema[name];
    }
    Object.assign(jsonSchema, shape);
  };
  return { override };
}

/** A problem of ours inside a zod check: its stable code beside its words. */
export function memberProblem(problem: MemberProblem, message: string) {
  return { code: 'custom' as const, message, params: { problem } };
}

/**
 * Text that can be stored, of so many characters. Characters are code points, as JSON Schema counts them, and
 * not UTF-16 units, as JavaScript does.
 */
export function text({ least = 0, most }: { least?: number; most: number }) {
  return z
    .string()
    .superRefine((value, context) => {
      const length = value.length > most ? Array.from(value).length : value.length;
      if (length > most) context.addIssue(memberProblem('too_long', `must have at most ${most} characters`));
      if (length < least)
        context.addIssue(
          memberProblem(
            'too_short',
            `must have at least ${least} ${least === 1 ? 'character' : 'characters'}`,
          ),
        );
      else if (least > 0 && value.trim() === '')
        context.addIssue(memberProblem('blank', 'must not be blank'));
      if (!isStorableText(value)) {
        context.addIssue(
          memberProblem('not_storable', 'must not contain a NUL character or half of a surrogate pair'),
        );
      }
    })
    .meta({ ...(least > 0 ? { minLength: least } : {}), maxLength: most });
}

/** Times that are kept: those that every place they go to can hold (PostgreSQL has no year 0, a UUID none before 1970). */
const FIRST_TIME = 0;
const LAST_TIME = Date.UTC(9_999, 11, 31, 23, 59, 59, 999);

/**
 * A time that somebody gives, ISO 8601 with its zone, to compare others with. One before 1970 or behind 9999 says the
 * same as the first or the last of these years.
 */
export const givenTime = z.iso
  .datetime({ offset: true })
  .transform((value) => new Date(Math.min(Math.max(Date.parse(value), FIRST_TIME), LAST_TIME)))
  .meta(shownAs({ type: 'string', format: 'date-time' }));

/** Any UUID, in lower case whatever it came in. */
export const uuid = z
  .guid()
  .transform((value) => value.toLowerCase())
  .meta(shownAs({ type: 'string', format: 'uuid' }));
