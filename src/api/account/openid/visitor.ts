import { z } from 'zod';
import { MAX_EMAIL_LENGTH, MAX_PERSON_NAME_LENGTH } from '../../../domain/common/limits.ts';
import { isStorableText } from '../../../domain/common/text.ts';
import type { OpenIdPerson } from '../../../security/openid.ts';

/** Held against the address as it came: lower-casing would make letters of others look like ours (U+212A is a k then). */
const address = z.email().max(MAX_EMAIL_LENGTH);

/** Whom the provider vouches for in our terms: a verified address or none, and a name to call them by. */
export function visitorOf({ issuer, subject, email, isEmailVerified, name }: OpenIdPerson) {
  const checked = isEmailVerified ? address.safeParse(email) : null;
  const own = checked?.success ? checked.data.toLowerCase() : null;
  const wanted = Array.from(name?.trim() ?? '')
    .slice(0, MAX_PERSON_NAME_LENGTH)
    .join('');
  const isUsable = wanted !== '' && isStorableText(wanted);
  return { issuer, subject, email: own, name: isUsable ? wanted : (own?.split('@')[0] ?? subject) };
}
