import { z } from 'zod';
import {
  MAX_EMAIL_LENGTH,
  MAX_PASSWORD_LENGTH,
  MAX_PERSON_NAME_LENGTH,
  MIN_PASSWORD_LENGTH,
} from '../common/limits.ts';
import { shownAs, text } from '../common/schema-parts.ts';

/** Somebody's e-mail address, in lower case whatever it came in. */
export const email = z
  .email()
  .max(MAX_EMAIL_LENGTH)
  .transform((value) => value.toLowerCase())
  .meta(shownAs({ type: 'string', format: 'email', maxLength: MAX_EMAIL_LENGTH }));

export const personName = text({ least: 1, most: MAX_PERSON_NAME_LENGTH });

/** A password that somebody chooses. */
export const newPassword = text({ least: MIN_PASSWORD_LENGTH, most: MAX_PASSWORD_LENGTH });

/** A password that is held against one that was chosen, under whatever rules there were then. */
export const givenPassword = z.string().max(MAX_PASSWORD_LENGTH);

/** Changing one's own password. */
export const passwordChange = z
  .strictObject({ current_password: givenPassword, new_password: newPassword })
  .meta({
    id: 'PasswordChange',
    example: { current_password: 'the current one', new_password: 'another good long one' },
  });
