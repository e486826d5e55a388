import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { readPrivate, writePrivate } from '../common/private-file.ts';

const secretsSchema = z.object({
  database_password: z.string().min(1),
  /** Key rings as BATON_SEALING_KEYS and BATON_TOKEN_KEYS spell them. */
  sealing_keys: z.string().min(1),
  token_keys: z.string().min(1),
});

/** The secrets that this checkout's service keeps: made once, at its first start. */
export type Secrets = z.infer<typeof secretsSchema>;

/** Reads the secrets in `file`, or makes and keeps them. */
export function ensureSecrets(file: string): Secrets {
  const known = readPrivate(file, (content) => secretsSchema.parse(content));
  if (known !== null) return known;
  const made = {
    database_password: randomBytes(24).toString('base64url'),
    sealing_keys: `local-1:${randomBytes(32).toString('base64')}`,
    token_keys: `local-1:${randomBytes(32).toString('base64')}`,
  };
  writePrivate(file, made);
  return made;
}
