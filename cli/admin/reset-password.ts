import { connectDatabase } from '../../src/database/connect.ts';
import { resetPassword } from '../../src/database/people/passwords.ts';
import { newPassword as passwordSchema } from '../../src/domain/people/person-fields.ts';
import { hashPassword } from '../../src/security/passwords.ts';

export { newPassword } from '../../src/security/passwords.ts';

/** Returns why a text cannot be a password; null if it can. */
export function problemOfPassword(text: string): string | null {
  return passwordSchema.safeParse(text).error?.issues[0]?.message ?? null;
}

/** Replaces the password of the member with this address. Returns false if there is none. @throws the driver's error */
export async function resetPasswordIn(
  databaseUrl: string,
  email: string,
  password: string,
): Promise<boolean> {
  const hash = await hashPassword(password);
  const database = await connectDatabase(databaseUrl, 1);
  try {
    return await resetPassword(database, { email, hash, now: new Date() });
  } finally {
    await database.close();
  }
}
