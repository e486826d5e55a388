import { MAX_RETURN_TO_LENGTH } from '../domain/common/limits.ts';

/** Default destination after sign-in. */
const HOME = '/';

/**
 * Returns the requested page of this origin as path, query and fragment; `/` for anything else. Rejects everything
 * that a browser would resolve to another origin (`//host`, a backslash, a scheme), also after normalization of the
 * path (`/.//host`).
 */
export function safeReturnPath(wanted: unknown): string {
  if (typeof wanted !== 'string' || !wanted.startsWith('/') || wanted.length > MAX_RETURN_TO_LENGTH)
    return HOME;
  const base = 'https://baton.invalid';
  if (/[\\\p{Cc}]/u.test(wanted) || !URL.canParse(wanted, base)) return HOME;
  const { origin, pathname, search, hash } = new URL(wanted, base);
  const path = pathname + search + hash;
  if (origin !== base || path.startsWith('//') || path.length > MAX_RETURN_TO_LENGTH) return HOME;
  return /^\/(api|sign-in)(\/|\?|#|$)/.test(path) ? HOME : path;
}
