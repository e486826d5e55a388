import { z } from 'zod';
import {
  MAX_EMAIL_LENGTH,
  MAX_PASSWORD_LENGTH,
  MAX_PERSON_NAME_LENGTH,
  MIN_PASSWORD_LENGTH,
} from '../common/limits.ts';
import { shownAs, text } from '../common/schema-parts.ts';

/** An e-mail address, converted to lower case. */
export const email = z
  .email()
  .max(MAX_EMAIL_LENGTH)
  .transform((value) => value.toLowerCase())
  .meta(shownAs({ type: 'string', format: 'email', maxLength: MAX_EMAIL_LENGTH }));

export const personName = text({ least: 1, most: MAX_PERSON_NAME_LENGTH });

/** A new password. */
export const newPassword = text({ least: MIN_PASSWORD_LENGTH, most: MAX_PASSWORD_LENGTH });

/** An existing password. It may have been chosen under earlier rules. */
export const givenPassword = text({ most: MAX_PASSWORD_LENGTH });

/** A change of the user's own password. */
export const passwordChange = z
  .strictObject({ current_password: givenPassword, new_password: newPassword })
  .meta({
    id: 'PasswordChange',
    example: { current_password: 'the current one', new_password: 'another good long one' },
  });
