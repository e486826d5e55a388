import { z } from 'zod';
import { MAX_URL_LENGTH } from './limits.ts';
import { memberProblem } from './schema-parts.ts';

/**
 * A callback address: it must begin with `https://` (docs/http-api.md). Which addresses may be reached is judged
 * when an attempt is made, on the address that is connected to.
 */
export const callbackUrl = z
  .string()
  .superRefine((value, context) => {
    if (value.length > MAX_URL_LENGTH) {
      context.addIssue(memberProblem('too_long', `must have at most ${MAX_URL_LENGTH} characters`));
    } else if (!value.startsWith('https://')) {
      context.addIssue(memberProblem('not_https', 'must start with https://'));
    } else {
      const problem = urlProblem(value);
      if (problem) context.addIssue(memberProblem('invalid_format', problem));
    }
  })
  .meta({ maxLength: MAX_URL_LENGTH, pattern: '^https://', format: 'uri' });

/** What keeps a text from being an address that we call; null where nothing does. Schemes are the caller's to judge. */
export function urlProblem(value: string): string | null {
  // The parser of URLs silently drops or repairs these; what is signed up for should be what is called.
  if (/[\s\p{Cc}\\]/u.test(value) || !value.isWellFormed())
    return 'must not contain characters that are invalid in a URL';
  const url = URL.parse(value);
  if (!url) return 'must be a valid URL';
  if (url.username !== '' || url.password !== '') return 'must not contain credentials';
  if (value.includes('#')) return 'must not have a fragment';
  return null;
}
