import { MAX_RETURN_TO_LENGTH } from '../domain/common/limits.ts';

/** Where somebody lands who wanted nothing in particular. */
const HOME = '/';

/**
 * The page of ours that somebody wanted, as path, query and fragment; the first one for anything else. Whatever a
 * browser would take for another address (`//host`, a backslash, a scheme) is none of ours, also after the path has
 * been made simple (`/.//host`).
 */
export function returnPlace(wanted: unknown): string {
  if (typeof wanted !== 'string' || !wanted.startsWith('/') || wanted.length > MAX_RETURN_TO_LENGTH)
    return HOME;
  const base = 'https://baton.invalid';
  if (/[\\\p{Cc}]/u.test(wanted) || !URL.canParse(wanted, base)) return HOME;
  const { origin, pathname, search, hash } = new URL(wanted, base);
  const place = pathname + search + hash;
  if (origin !== base || place.startsWith('//') || place.length > MAX_RETURN_TO_LENGTH) return HOME;
  return /^\/(api|sign-in)(\/|\?|#|$)/.test(place) ? HOME : place;
}
