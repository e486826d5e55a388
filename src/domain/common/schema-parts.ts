import { z } from 'zod';
import type { FieldProblem } from './problem-codes.ts';
import { counted, isStorableText } from './text.ts';

/** A UUID in a response. */
export const uuidOut = z.string().meta({ format: 'uuid' });

/** A time in a response: ISO 8601 UTC with milliseconds. */
export const timestamp = z.string().meta({ format: 'date-time', examples: ['2026-01-31T12:00:00.000Z'] });

/**
 * Overrides the JSON Schema of a schema in the OpenAPI document, for schemas whose generated form is too loose or too
 * detailed. The description stays.
 */
export function shownAs(shape: Record<string, unknown>) {
  const override = ({ jsonSchema }: { jsonSchema: Record<string, unknown> }): void => {
    for (const name of Object.keys(jsonSchema)) {
      if (name !== 'description') delete jsonSchema[name];
    }
    Object.assign(jsonSchema, shape);
  };
  return { override };
}

/** Creates a zod issue with a stable problem code and a message. */
export function fieldProblem(problem: FieldProblem, message: string) {
  return { code: 'custom' as const, message, params: { problem } };
}

/**
 * Storable text with a length limit. The length is counted in code points, as in JSON Schema, not in UTF-16 units as in
 * JavaScript.
 */
export function text({ least = 0, most }: { least?: number; most: number }) {
  return z
    .string()
    .superRefine((value, context) => {
      const length = value.length > most ? Array.from(value).length : value.length;
      if (length > most)
        context.addIssue(fieldProblem('too_long', `must have at most ${counted(most, 'character')}`));
      if (length < least)
        context.addIssue(fieldProblem('too_short', `must have at least ${counted(least, 'character')}`));
      else if (least > 0 && value.trim() === '') context.addIssue(fieldProblem('blank', 'must not be blank'));
      if (!isStorableText(value)) {
        context.addIssue(
          fieldProblem('not_storable', 'must not contain a NUL character or half of a surrogate pair'),
        );
      }
    })
    .meta({ ...(least > 0 ? { minLength: least } : {}), maxLength: most });
}

/** Range of stored times that every use supports: PostgreSQL has no year 0, and a UUID no time before 1970. */
const FIRST_TIME = 0;
const LAST_TIME = Date.UTC(9_999, 11, 31, 23, 59, 59, 999);

/** Returns a time to compare with stored ones. A time before 1970 or after 9999 becomes the first or the last time in that range. */
export function comparableTime(iso: string): Date {
  return new Date(Math.min(Math.max(Date.parse(iso), FIRST_TIME), LAST_TIME));
}

/** A time in a request, ISO 8601 with its zone, see {@link comparableTime}. */
export const givenTime = z.iso
  .datetime({ offset: true })
  .transform(comparableTime)
  .meta(shownAs({ type: 'string', format: 'date-time' }));

/** Any UUID, converted to lower case. */
export const uuid = z
  .guid()
  .transform((value) => value.toLowerCase())
  .meta(shownAs({ type: 'string', format: 'uuid' }));
