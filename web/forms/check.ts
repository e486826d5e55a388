import { config, type ZodType } from 'zod';
import { problemsIn } from '../../src/domain/common/validation.ts';
import { ApiProblem, type MemberError } from '../api/problem.ts';

// Its fast way is to write functions out of text, which our policy forbids.
config({ jitless: true });

/** Sentences by the dotted path of the member they are about, as forms take them. */
export type FormErrors = Record<string, string>;

/** What the API would say to this body, before it is sent: judged by the same schema, in the same words. */
export function checked(schema: ZodType, body: unknown): FormErrors {
  const result = schema.safeParse(body);
  return result.success ? {} : byMember(problemsIn(result.error, body, 'body'));
}

/** What the API did say to a body, for the form's fields; empty where the refusal is about something else. */
export function refusedMembers(error: unknown): FormErrors {
  return error instanceof ApiProblem ? byMember(error.errors) : {};
}

function byMember(errors: readonly MemberError[]): FormErrors {
  const sentences: FormErrors = {};
  for (const { pointer = '', message } of errors) {
    const path = pointer.split('/').slice(1).join('.').replaceAll('~1', '/').replaceAll('~0', '~');
    sentences[path] ??= sentenceBesideField(message);
  }
  return sentences;
}

/** Beside its field a sentence need not name it. */
function sentenceBesideField(message: string): string {
  const words = message.replace(/^`[^`]*` /, '');
  return words.charAt(0).toUpperCase() + words.slice(1);
}
