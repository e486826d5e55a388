import { z } from 'zod';
import { givenPassword, newPassword } from './person-fields.ts';

/** Changing one's own password. */
export const passwordChange = z
  .strictObject({ current_password: givenPassword, new_password: newPassword })
  .meta({
    id: 'PasswordChange',
    example: { current_password: 'the one until now', new_password: 'another good long one' },
  });
