import { ConfigurationError } from './configuration.ts';
import type { Database } from '../database/database.ts';
import { readSealedSamples } from '../database/common/sealed-values.ts';
import {
  callbackSecretContext,
  keyIdOf,
  SealError,
  webhookSecretContext,
  type Sealing,
} from '../security/sealing.ts';

/**
 * Checks that the secrets in the database can be decrypted, before anything is accepted or sent.
 * @throws ConfigurationError if a key is missing, or has changed under the same name
 */
export async function checkSealedSecrets(database: Database, sealing: Sealing): Promise<void> {
  for (const { of, id, sealed } of await readSealedSamples(database)) {
    try {
      sealing.open(sealed, of === 'webhook' ? webhookSecretContext(id) : callbackSecretContext(id));
    } catch (error) {
      if (!(error instanceof SealError)) throw error;
      const whose = of === 'webhook' ? 'secrets of webhooks' : 'secrets of callbacks';
      const key = keyIdOf(sealed);
      throw new ConfigurationError(
        `BATON_SEALING_KEYS cannot decrypt the ${whose} in this database: the key "${key}" that encrypted them is ` +
          'missing or has changed. Add the old key. The first key encrypts, all keys decrypt.',
      );
    }
  }
}
