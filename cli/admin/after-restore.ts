import { Client, Connection } from '@temporalio/client';
import { readRestored } from '../../src/runtime/configuration.ts';
import {
  findExistingRuns,
  restartUnfinished,
  type RestartCounts,
} from '../../src/database/common/after-restore.ts';
import { connectDatabase } from '../../src/database/connect.ts';
import { checkSchema } from '../../src/database/schema.ts';
import { loadTemporalConfig } from '../../src/temporal/connection.ts';
import { createOrphanControl } from '../../src/temporal/orphans.ts';

/** What was done after a restore. `orphans`: runs that only Temporal knows, ended where that was wished. */
export type AfterRestore = RestartCounts & { orphans: string[] };

/**
 * Brings database and Temporal together after one of them was restored to an earlier time than the other, or lost.
 * May be done again, and while the service runs.
 * @throws ConfigurationError, SchemaError, or an error of what is out of reach
 */
export async function afterRestore(
  environment: Readonly<Record<string, string | undefined>>,
  { endOrphans }: { endOrphans: boolean },
): Promise<AfterRestore> {
  const { databaseUrl, taskQueue } = readRestored(environment);
  const { connectionOptions, namespace } = loadTemporalConfig(environment);
  const connection = await Connection.connect({ ...connectionOptions, connectTimeout: '5 s' });
  const database = await connectDatabase(databaseUrl, 1);
  try {
    await checkSchema(database);
    const control = createOrphanControl(new Client({ connection, namespace }), taskQueue);
    const orphans: string[] = [];
    for await (const ids of control.openRuns()) {
      const known = await findExistingRuns(database, ids);
      orphans.push(...ids.filter((id) => !known.has(id)));
    }
    if (endOrphans) for (const id of orphans) await control.end(id);
    return { ...(await restartUnfinished(database)), orphans };
  } finally {
    await database.close();
    await connection.close();
  }
}
