import { readStoredCounts } from '../database/common/metrics.ts';
import { createRunInspector } from '../reconciler/run-inspector.ts';
import { RECONCILER_ACTIONS } from '../reconciler/reconcile.ts';
import { startReconciler } from '../reconciler/reconciler-loop.ts';
import { createReconcilerMetrics } from '../telemetry/event-metrics.ts';
import { collectDatabaseMetrics } from '../telemetry/collectors.ts';
import { createDeliveryControl } from '../temporal/delivery-control.ts';
import { createTaskControl } from '../temporal/task-control.ts';
import type { Foundation } from './foundation.ts';
import { runMetricsOf } from './run-worker.ts';
import { knowsSearchAttributes, type Engine } from './temporal.ts';

/** Starts the reconciler. */
export async function openReconciler(
  closing: AsyncDisposableStack,
  foundation: Foundation,
  engine: Engine,
): Promise<void> {
  const { configuration, database, log } = foundation;
  const { databaseUrl, taskQueue, runsKeptDays } = configuration;
  const { client } = engine;
  const searchable = await knowsSearchAttributes(engine, log);
  const reconciler = startReconciler({
    database,
    databaseUrl,
    engine: createRunInspector({ client, taskQueue, log }),
    control: createTaskControl({ client, taskQueue, eagerStart: false, searchable }),
    ...metricsOf(foundation),
    deliveryControl: createDeliveryControl({ client, taskQueue }),
    clock: () => new Date(),
    runsKeptDays,
    log,
  });
  closing.defer(() => reconciler.stop());
}

/** Returns the metrics of the reconciler and collects those of the database; null without metrics. */
function metricsOf({ telemetry, database, log }: Foundation) {
  const { registry } = telemetry;
  if (registry === null) return null;
  collectDatabaseMetrics(
    registry,
    () => readStoredCounts(database),
    (error) => log.warn({ err: error }, 'reading database statistics failed'),
  );
  return { ...createReconcilerMetrics(registry, RECONCILER_ACTIONS), ...runMetricsOf(telemetry) };
}
