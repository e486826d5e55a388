import { closeSync, fdatasyncSync, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { cpus, release, tmpdir, totalmem, type as systemName } from 'node:os';
import { join } from 'node:path';
import { Connection } from '@temporalio/client';
import { Client } from 'pg';
import { inCheckout } from '../../dev/common/paths.ts';
import { services } from '../../test/support/services.ts';
import { summarize } from './measure.ts';
import type { BenchEnvironment } from './results.ts';

/** Returns the machine and the versions of all measured programs. The services must be running. */
export async function describeEnvironment(): Promise<BenchEnvironment> {
  const [postgresql, server] = await Promise.all([readPostgresVersion(), readTemporalVersion()]);
  const processors = cpus();
  const { p50, p95 } = measureSync();
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
      temporal_sdk: readPackageVersion('@temporalio/worker'),
    },
  };
}

async function readPostgresVersion(): Promise<string> {
  const client = new Client(services().databaseUrl('postgres'));
  await client.connect();
  const { rows } = await client.query<{ server_version: string }>('show server_version');
  await client.end();
  return rows[0]?.server_version ?? 'unknown';
}

async function readTemporalVersion(): Promise<string> {
  const connection = await Connection.connect({ address: services().temporalAddress });
  const { serverVersion } = await connection.workflowService.getSystemInfo({});
  await connection.close();
  return serverVersion ?? 'unknown';
}

function readPackageVersion(name: string): string {
  const file = inCheckout('node_modules', ...name.split('/'), 'package.json');
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}

const SYNCS = 100;

/** Measures writes of 4 KiB with fsync, in milliseconds, where the services keep their data. */
function measureSync() {
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
  return summarize(samples);
}
