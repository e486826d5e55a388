import { config, type ZodType } from 'zod';
import { problemsIn } from '../../src/domain/common/validation.ts';
import { ApiProblem, type FieldError } from '../api/problem.ts';

// Its fast way is to write functions out of text, which our policy forbids.
config({ jitless: true });

/** Sentences by the dotted path of the member they are about, as forms take them. */
export type FormErrors = Record<string, string>;

/** What the API would say to this body, before it is sent: judged by the same schema, in the same words. */
export function validate(schema: ZodType, body: unknown): FormErrors {
  const result = schema.safeParse(body);
  return result.success ? {} : byField(problemsIn(result.error, body, 'body'));
}

/** What the API did say to a body, for the form's fields; empty where the refusal is about something else. */
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

/** Beside its field a sentence need not name it. */
function withoutFieldName(message: string): string {
  const words = message.replace(/^`[^`]*` /, '');
  return words.charAt(0).toUpperCase() + words.slice(1);
}
