import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { readPrivate, writePrivate } from '../common/private-file.ts';

const secretsSchema = z.object({
  database_password: z.string().min(1),
  /** Key rings in the format of BATON_SEALING_KEYS and BATON_TOKEN_KEYS. */
  sealing_keys: z.string().min(1),
  token_keys: z.string().min(1),
});

/** The secrets of the service in this checkout. The first start creates them. */
export type Secrets = z.infer<typeof secretsSchema>;

/** Returns the secrets in `file`. Creates them if the file is missing. */
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
