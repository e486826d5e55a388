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

/** The result of the repair after a restore. `orphans`: runs that only Temporal knows, ended if requested. */
export type AfterRestore = RestartCounts & { orphans: string[] };

/**
 * Reconciles the database and Temporal after one of them was lost or restored to an earlier time. Can be repeated,
 * and can run while the service runs.
 * @throws ConfigurationError, SchemaError, or the error of an unreachable service
 */
export async function afterRestore(
  environment: Readonly<Record<string, string | undefined>>,
  { endOrphans }: { endOrphans: boolean },
): Promise<AfterRestore> {
  const { databaseUrl, taskQueue } = readRestored(environment);
  const { connectionOptions, namespace } = loadTemporalConfig(environment);
  const connection = await Connection.connect({ ...connectionOptions, connectTimeout: '5 s' });
  const database = await connectDatabase(databaseUrl, 1, { limits: {} });
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
