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
  createSealing,
  keyIdOf,
  SealError,
  webhookSecretContext,
} from '../../src/security/sealing.ts';

/** What became of a column's texts that were not sealed with the first key. */
export type Resealed = {
  column: SealedColumn;
  resealed: number;
  /** Left as they are, since no key here opens them. */
  unopened: number;
  /** The ids of the keys that those were sealed with. */
  missingKeys: string[];
};

const BATCH = 500;
/** Whoever still seals with an old key adds more meanwhile; what is left after so many looks is theirs. */
const LOOKS = 3;

/** Where a text of each column belongs; a rotated secret moves to `previous_secret` as it is. */
const PLACE_OF: Record<SealedColumn, (text: SealedText) => string> = {
  'webhooks.secret': ({ id }) => webhookSecretContext(id),
  'webhooks.previous_secret': ({ id }) => webhookSecretContext(id),
  'task_runs.callback_secret': ({ id }) => callbackSecretContext(id),
  'idempotency_keys.answer': ({ id, key }) => storedResponseContext({ scope: id, key }),
};

/**
 * Seals everything sealed in the database of this environment with the first key, in batches. Safe while the service
 * runs, and to be broken off and begun again: a text that somebody has changed meanwhile is left to the next look.
 * @throws ConfigurationError, or the driver's error
 */
export async function resealDatabase(
  environment: Readonly<Record<string, string | undefined>>,
): Promise<Resealed[]> {
  const { databaseUrl, sealingKeys } = readSealingKeys(environment);
  const database = await connectDatabase(databaseUrl, 2);
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
    for (let looks = 1; look.resealed > 0 && looks < LOOKS; looks += 1) {
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
    const anew = found.flatMap((text) => {
      const place = PLACE_OF[column](text);
      try {
        return [{ ...text, anew: sealing.seal(sealing.open(text.sealed, place), place) }];
      } catch (error) {
        if (!(error instanceof SealError)) throw error;
        missing.add(keyIdOf(text.sealed));
        done.unopened += 1;
        return [];
      }
    });
    done.resealed += anew.length > 0 ? await replaceSealed(database, column, anew) : 0;
    after = found.at(-1) ?? null;
    if (found.length < BATCH) return { ...done, missingKeys: [...missing].toSorted() };
  }
}
