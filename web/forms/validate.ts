import { config, type ZodType } from 'zod';
import { problemsIn } from '../../src/domain/common/validation.ts';
import { ApiProblem, type FieldError } from '../api/problem.ts';

// zod's JIT creates functions from text, which our content security policy forbids.
config({ jitless: true });

/** Error messages by the dotted path of their field, as forms expect them. */
export type FormErrors = Record<string, string>;

/** Validates a body with the schema of the API. Returns the same messages as the API. */
export function validate(schema: ZodType, body: unknown): FormErrors {
  const result = schema.safeParse(body);
  return result.success ? {} : byField(problemsIn(result.error, body, 'body'));
}

/** Returns the validation errors of an error response, by field. Empty for other errors. */
export function serverErrors(error: unknown): FormErrors {
  return error instanceof ApiProblem ? byField(error.errors) : {};
}

function byField(errors: readonly FieldError[]): FormErrors {
  const messages: FormErrors = {};
  for (const { pointer = '', message } of errors) {
    const path = pointer.split('/').slice(1).join('.').replaceAll('~1', '/').replaceAll('~0', '~');
    messages[path] ??= withoutFieldName(message);
  }
  return messages;
}

/** Removes the field name from a message that is shown beside its field. */
function withoutFieldName(message: string): string {
  const words = message.replace(/^`[^`]*` /, '');
  return words.charAt(0).toUpperCase() + words.slice(1);
}
