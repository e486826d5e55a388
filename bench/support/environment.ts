import { closeSync, fdatasyncSync, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { cpus, release, tmpdir, totalmem, type as systemName } from 'node:os';
import { join } from 'node:path';
import { Connection } from '@temporalio/client';
import { Client } from 'pg';
import { inCheckout } from '../../dev/common/paths.ts';
import { services } from '../../test/support/services.ts';
import { summarise } from './figures.ts';
import type { Where } from './results.ts';

/** The machine, and the versions of all that runs under measurement; the services must be up. */
export async function whereItRuns(): Promise<Where> {
  const [postgresql, server] = await Promise.all([postgresVersion(), temporalVersion()]);
  const processors = cpus();
  const { p50, p95 } = syncTimes();
  return {
    machine: {
      cpu: processors[0]?.model.trim() ?? 'unknown',
      cores: processors.length,
      memory_mb: Math.round(totalmem() / 1_048_576),
      system: `${systemName()} ${release()}`,
      fsync_ms: { p50, p95 },
    },
    versions: {
      node: process.versions.node,
      temporal_server: server,
      postgresql,
      temporal_sdk: packageVersion('@temporalio/worker'),
    },
  };
}

async function postgresVersion(): Promise<string> {
  const client = new Client(services().databaseUrl('postgres'));
  await client.connect();
  const { rows } = await client.query<{ server_version: string }>('show server_version');
  await client.end();
  return rows[0]?.server_version ?? 'unknown';
}

async function temporalVersion(): Promise<string> {
  const connection = await Connection.connect({ address: services().temporalAddress });
  const { serverVersion } = await connection.workflowService.getSystemInfo({});
  await connection.close();
  return serverVersion ?? 'unknown';
}

function packageVersion(name: string): string {
  const file = inCheckout('node_modules', ...name.split('/'), 'package.json');
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}

const SYNCS = 100;

/** Milliseconds of a write of 4 KiB that waits for the disk, where the services keep their data. */
function syncTimes() {
  const folder = mkdtempSync(join(tmpdir(), 'baton-fsync-'));
  const file = openSync(join(folder, 'file'), 'w');
  const block = Buffer.alloc(4_096, 1);
  const samples = Array.from({ length: SYNCS }, () => {
    const began = performance.now();
    writeSync(file, block);
    fdatasyncSync(file);
    return performance.now() - began;
  });
  closeSync(file);
  rmSync(folder, { recursive: true });
  return summarise(samples);
}
