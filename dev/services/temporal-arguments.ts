import type { TemporalPlan } from './temporal-plan.ts';

/**
 * Returns the command line of the dev server. Without `dbFile`, its data is lost when it exits. `partitions`: those of each
 * task queue.
 */
export function devServerArguments(
  plan: TemporalPlan,
  place: { port: number; uiPort: number; partitions: number; dbFile?: string | undefined },
): string[] {
  const fixed = 'server start-dev --ip 127.0.0.1 --log-level warn --ui-disable-news-fetch'.split(' ');
  const ports = ['--port', String(place.port), '--ui-port', String(place.uiPort)];
  const dynamicConfiguration = {
    ...plan.dynamic_configuration,
    ...plan.small_server_configuration,
    'matching.numTaskqueueReadPartitions': place.partitions,
    'matching.numTaskqueueWritePartitions': place.partitions,
  };
  return [
    ...fixed,
    ...ports,
    '--namespace',
    plan.namespace,
    ...(place.dbFile === undefined ? [] : ['--db-filename', place.dbFile]),
    ...pairs('--search-attribute', plan.search_attributes, String),
    ...pairs('--sqlite-pragma', plan.sqlite_pragmas, String),
    ...pairs('--dynamic-config-value', dynamicConfiguration, JSON.stringify),
  ];
}

function pairs(flag: string, values: Record<string, unknown>, spell: (value: unknown) => string): string[] {
  return Object.entries(values).flatMap(([name, value]) => [flag, `${name}=${spell(value)}`]);
}
