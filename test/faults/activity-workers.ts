import { Client, Connection } from '@temporalio/client';
import type { Service } from '../support/service.ts';

/** By run, the id of the process that works on its pending activity, as Temporal knows it. */
export async function workersAtWork(service: Service, ids: readonly string[]): Promise<Map<string, number>> {
  const connection = await Connection.connect({ address: service.temporalAddress });
  try {
    const client = new Client({ connection, namespace: service.namespace });
    const found = await Promise.all(
      ids.map(async (id) => {
        const { raw } = await client.workflow.getHandle(id).describe();
        const identity = raw.pendingActivities?.[0]?.lastWorkerIdentity ?? '';
        return [id, Number(identity.split('@')[0])] as const;
      }),
    );
    return new Map(found.filter(([, pid]) => pid > 0));
  } finally {
    await connection.close();
  }
}
