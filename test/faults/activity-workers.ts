import { withTemporal, type Service } from '../support/service.ts';

/** Returns the ids of the processes that execute the runs' pending activities, by run, as Temporal reports them. */
export async function activityWorkers(
  service: Service,
  ids: readonly string[],
): Promise<Map<string, number>> {
  const found = await withTemporal(service, ({ workflow }) =>
    Promise.all(
      ids.map(async (id) => {
        const { raw } = await workflow.getHandle(id).describe();
        const identity = raw.pendingActivities?.[0]?.lastWorkerIdentity ?? '';
        return [id, Number(identity.split('@')[0])] as const;
      }),
    ),
  );
  return new Map(found.filter(([, pid]) => pid > 0));
}
