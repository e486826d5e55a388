import { Client } from 'pg';
import { between, cpuByPart, total, type ByPart } from './parts.ts';
import { row, type FigureTable } from './results.ts';
import { added, storedNow, type Stored } from './storage.ts';

/** What a stretch of work took: CPU-seconds by kind of process, and what it left in the databases. */
export type Used = { cpu: ByPart; stored: Stored };

/** Does `work` and measures what it took. `url`: the service's database. */
export async function measured(url: string, work: () => Promise<unknown>): Promise<Used> {
  const client = new Client(url);
  await client.connect();
  try {
    const before = { stored: await storedNow(client), cpu: cpuByPart() };
    await work();
    const cpu = between(before.cpu, cpuByPart());
    return { cpu, stored: added(before.stored, await storedNow(client)) };
  } finally {
    await client.end();
  }
}

const MEGABYTE = 1_000_000;

/** CPU and bytes of `each` things, from what `count` of them took. `what` names them. */
export function costTables(what: string, used: Used, count: number, each: number): FigureTable[] {
  const times = each / count;
  const { tables, log, temporal } = used.stored;
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
        ...[...used.cpu].map(([part, seconds]) => row(part, [seconds * times])),
        row('all', [total(used.cpu) * times]),
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
