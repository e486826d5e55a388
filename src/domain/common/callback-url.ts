import { z } from 'zod';
import { MAX_URL_LENGTH } from './limits.ts';
import { fieldProblem } from './schema-parts.ts';

/**
 * A callback URL. It must begin with `https://` (docs/http-api.md). Whether its address is allowed is decided at each
 * attempt, for the address that is connected to.
 */
export const callbackUrl = z
  .string()
  .superRefine((value, context) => {
    if (value.length > MAX_URL_LENGTH) {
      context.addIssue(fieldProblem('too_long', `must have at most ${MAX_URL_LENGTH} characters`));
    } else if (!value.startsWith('https://')) {
      context.addIssue(fieldProblem('not_https', 'must start with https://'));
    } else {
      const problem = urlProblem(value);
      if (problem) context.addIssue(fieldProblem('invalid_format', problem));
    }
  })
  .meta({ maxLength: MAX_URL_LENGTH, pattern: '^https://', format: 'uri' });

/** Returns why a text is not a URL that the service calls, or null if it is one. The caller checks the scheme. */
export function urlProblem(value: string): string | null {
  // The URL parser silently drops or repairs these characters. The service must call exactly the URL that the user
  // entered.
  if (/[\s\p{Cc}\\]/u.test(value) || !value.isWellFormed())
    return 'must not contain characters that are invalid in a URL';
  const url = URL.parse(value);
  if (!url) return 'must be a valid URL';
  if (url.username !== '' || url.password !== '') return 'must not contain credentials';
  if (value.includes('#')) return 'must not have a fragment';
  return null;
}
