import { z } from 'zod';
import { MAX_METADATA_BYTES, MAX_METADATA_DEPTH } from '../common/limits.ts';
import type { FieldProblem } from '../common/problem-codes.ts';
import { rehearsalSchema, type Rehearsal } from './rehearsal.ts';
import { isStorableText } from '../common/text.ts';
import { fieldProblem, shownAs } from '../common/schema-parts.ts';

/**
 * Any JSON object that can be stored and returned unchanged. If it has the field `rehearsal`, that field scripts the
 * rehearsal backend and is validated by its schema.
 */
export const metadata = z
  .unknown()
  .superRefine((value, context) => {
    if (value === null || typeof value !== 'object' || Array.isArray(value)) {
      context.addIssue(fieldProblem('wrong_type', 'must be an object'));
      return;
    }
    const found = problemOf(value, 1);
    if (found) context.addIssue(fieldProblem(...found));
    else if (new TextEncoder().encode(JSON.stringify(value)).length > MAX_METADATA_BYTES) {
      context.addIssue(fieldProblem('too_large', `must be at most ${MAX_METADATA_BYTES} bytes of JSON`));
    }
    if (!Object.hasOwn(value, 'rehearsal')) return;
    const rehearsal = rehearsalSchema.safeParse((value as { rehearsal: unknown }).rehearsal);
    for (const issue of rehearsal.error?.issues ?? []) {
      context.issues.push({ ...issue, path: ['rehearsal', ...issue.path], input: value } as never);
    }
  })
  .transform((value) => value as Record<string, unknown>)
  .meta(
    shownAs({
      type: 'object',
      additionalProperties: true,
      properties: { rehearsal: { $ref: '#/components/schemas/Rehearsal' } },
    }),
  );

/** Returns the script for the rehearsal backend in validated metadata, or null. */
export function rehearsalOf(given: Record<string, unknown> | undefined): Rehearsal | null {
  return given && Object.hasOwn(given, 'rehearsal') ? (given['rehearsal'] as Rehearsal) : null;
}

function problemOf(value: unknown, depth: number): [FieldProblem, string] | null {
  if (typeof value === 'string') {
    return isStorableText(value)
      ? null
      : ['not_storable', 'must not contain a NUL character or half of a surrogate pair'];
  }
  if (typeof value === 'number') {
    const exact = Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value));
    return exact
      ? null
      : ['number_not_exact', 'contains a number that cannot be returned exactly; send it as a string'];
  }
  if (value === null || typeof value !== 'object') return null;
  if (depth > MAX_METADATA_DEPTH) return ['too_deep', `must be at most ${MAX_METADATA_DEPTH} levels deep`];
  for (const [name, inner] of Object.entries(value)) {
    const problem = problemOf(name, depth) ?? problemOf(inner, depth + 1);
    if (problem) return problem;
  }
  return null;
}
