import { randomBytes } from 'node:crypto';
import { readPrivate, writePrivate } from '../common/private-file.ts';

/** The secrets of the service in this checkout. The first start creates them. */
export type Secrets = {
  database_password: string;
  /** Key rings in the format of BATON_SEALING_KEYS and BATON_TOKEN_KEYS. */
  sealing_keys: string;
  token_keys: string;
};

/** Returns the secrets in `file`. Creates them if the file is missing. */
export function ensureSecrets(file: string): Secrets {
  const known = readPrivate(file, secretsIn);
  if (known !== null) return known;
  const made = {
    database_password: randomBytes(24).toString('base64url'),
    sealing_keys: `local-1:${randomBytes(32).toString('base64')}`,
    token_keys: `local-1:${randomBytes(32).toString('base64')}`,
  };
  writePrivate(file, made);
  return made;
}

function secretsIn(content: unknown): Secrets {
  const { database_password, sealing_keys, token_keys } = content as Secrets;
  const secrets = { database_password, sealing_keys, token_keys };
  for (const [name, secret] of Object.entries<unknown>(secrets)) {
    if (typeof secret !== 'string' || secret === '') throw new Error(`${name} is missing`);
  }
  return secrets;
}
