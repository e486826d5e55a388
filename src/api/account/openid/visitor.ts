import { z } from 'zod';
import { MAX_EMAIL_LENGTH, MAX_PERSON_NAME_LENGTH } from '../../../domain/common/limits.ts';
import { isStorableText } from '../../../domain/common/text.ts';
import type { OpenIdPerson } from '../../../security/openid.ts';

/** Validated before lower-casing, which could turn other letters into ASCII (U+212A becomes k). */
const address = z.email().max(MAX_EMAIL_LENGTH);

/** Returns the person whom the provider identified: a verified address or null, and a display name. */
export function visitorOf({ issuer, subject, email, isEmailVerified, name }: OpenIdPerson) {
  const checked = isEmailVerified ? address.safeParse(email) : null;
  const own = checked?.success ? checked.data.toLowerCase() : null;
  const wanted = Array.from(name?.trim() ?? '')
    .slice(0, MAX_PERSON_NAME_LENGTH)
    .join('');
  const isUsable = wanted !== '' && isStorableText(wanted);
  return { issuer, subject, email: own, name: isUsable ? wanted : (own?.split('@')[0] ?? subject) };
}
