import { readSealingKeys } from '../../src/runtime/configuration.ts';
import type { Database } from '../../src/database/database.ts';
import { connectDatabase } from '../../src/database/connect.ts';
import {
  replaceSealed,
  SEALED_COLUMNS,
  listSealedWithOtherKeys,
  type SealedColumn,
  type SealedText,
} from '../../src/database/common/sealed-values.ts';
import type { KeyRing } from '../../src/security/key-ring.ts';
import {
  storedResponseContext,
  callbackSecretContext,
  pushSecretsContext,
  createSealing,
  keyIdOf,
  SealError,
  webhookSecretContext,
} from '../../src/security/sealing.ts';

/** The result for the texts of a column that were not sealed with the first key. */
export type Resealed = {
  column: SealedColumn;
  resealed: number;
  /** Unchanged, because no configured key opens them. */
  unopened: number;
  /** The ids of the keys that sealed them. */
  missingKeys: string[];
};

const BATCH = 500;
/** Maximum number of passes. A process that still uses an old key can add more texts during a pass. */
const MAX_PASSES = 3;

/** The context of each column. A rotation moves a secret to `previous_secret` unchanged. */
const CONTEXT_OF: Record<SealedColumn, (text: SealedText) => string> = {
  'webhooks.secret': ({ id }) => webhookSecretContext(id),
  'webhooks.previous_secret': ({ id }) => webhookSecretContext(id),
  'task_runs.callback_secret': ({ id }) => callbackSecretContext(id),
  'push_configs.secrets': ({ id, key }) => pushSecretsContext({ executionId: id, id: key }),
  'idempotency_keys.answer': ({ id, key }) => storedResponseContext({ scope: id, key }),
};

/**
 * Seals all sealed texts in the database with the first key, in batches. Can run while the service runs, and can be
 * interrupted and repeated: a text that changes during a pass is left for the next pass.
 * @throws ConfigurationError, or the driver's error
 */
export async function resealDatabase(
  environment: Readonly<Record<string, string | undefined>>,
): Promise<Resealed[]> {
  const { databaseUrl, sealingKeys } = readSealingKeys(environment);
  const database = await connectDatabase(databaseUrl, 2, { limits: {} });
  try {
    return await resealAll(database, sealingKeys);
  } finally {
    await database.close();
  }
}

async function resealAll(database: Database, ring: KeyRing): Promise<Resealed[]> {
  const done: Resealed[] = [];
  for (const column of SEALED_COLUMNS) {
    let resealed = 0;
    let look = await resealColumn(database, ring, column);
    for (let looks = 1; look.resealed > 0 && looks < MAX_PASSES; looks += 1) {
      resealed += look.resealed;
      look = await resealColumn(database, ring, column);
    }
    done.push({ ...look, resealed: resealed + look.resealed });
  }
  return done;
}

async function resealColumn(database: Database, ring: KeyRing, column: SealedColumn): Promise<Resealed> {
  const sealing = createSealing(ring);
  const missing = new Set<string>();
  const done = { column, resealed: 0, unopened: 0 };
  for (let after: SealedText | null = null; ; ) {
    const found: SealedText[] = await listSealedWithOtherKeys(database, column, {
      keyId: ring.first.id,
      after,
      limit: BATCH,
    });
    const resealed = found.flatMap((text) => {
      const context = CONTEXT_OF[column](text);
      try {
        return [{ ...text, resealed: sealing.seal(sealing.open(text.sealed, context), context) }];
      } catch (error) {
        if (!(error instanceof SealError)) throw error;
        missing.add(keyIdOf(text.sealed));
        done.unopened += 1;
        return [];
      }
    });
    done.resealed += resealed.length > 0 ? await replaceSealed(database, column, resealed) : 0;
    after = found.at(-1) ?? null;
    if (found.length < BATCH) return { ...done, missingKeys: [...missing].toSorted() };
  }
}
