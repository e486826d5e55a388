import { Client } from 'pg';
import { diffParts, cpuByPart, total, type ByPart } from './parts.ts';
import { row, type MetricTable } from './results.ts';
import { diffStorage, measureStorage, type Storage } from './storage.ts';

/** The costs of some work: CPU-seconds by kind of process, and bytes in the databases. */
export type Costs = { cpu: ByPart; stored: Storage };

/** Runs `work`, measures its costs, and returns them with its result. `url`: the service's database. */
export async function measureCosts<T>(
  url: string,
  work: () => Promise<T>,
): Promise<{ result: T; costs: Costs }> {
  const client = new Client(url);
  await client.connect();
  try {
    const before = { stored: await measureStorage(client), cpu: cpuByPart() };
    const result = await work();
    const cpu = diffParts(before.cpu, cpuByPart());
    return { result, costs: { cpu, stored: diffStorage(before.stored, await measureStorage(client)) } };
  } finally {
    await client.end();
  }
}

const MEGABYTE = 1_000_000;

/** Returns tables of the CPU and bytes of `each` items, from the costs of `count` items. `what` names them. */
export function costTables(what: string, costs: Costs, count: number, each: number): MetricTable[] {
  const times = each / count;
  const { tables, log, temporal } = costs.stored;
  const mb = (bytes: number) => (bytes * times) / MEGABYTE;
  const sum = [...tables.values()].reduce(
    (all, one) => ({ rows: all.rows + one.rows, indexes: all.indexes + one.indexes }),
    { rows: 0, indexes: 0 },
  );
  return [
    {
      id: 'cpu',
      title: `CPU of ${what}`,
      columns: [{ title: 'CPU', unit: 's', digits: 1 }],
      rows: [
        ...[...costs.cpu].map(([part, seconds]) => row(part, [seconds * times])),
        row('all', [total(costs.cpu) * times]),
      ],
    },
    {
      id: 'bytes',
      title: `What ${what} leave in the databases`,
      columns: ['rows', 'indexes', 'together'].map((title) => ({ title, unit: 'MB', digits: 1 })),
      rows: [
        ...[...tables]
          .toSorted(([, a], [, b]) => b.rows + b.indexes - a.rows - a.indexes)
          .map(([name, { rows, indexes }]) => row(name, [mb(rows), mb(indexes), mb(rows + indexes)])),
        row('all tables', [mb(sum.rows), mb(sum.indexes), mb(sum.rows + sum.indexes)]),
        row("PostgreSQL's log, written", [null, null, mb(log)]),
        ...(temporal === null ? [] : [row("Temporal's database", [null, null, mb(temporal)])]),
      ],
    },
  ];
}
