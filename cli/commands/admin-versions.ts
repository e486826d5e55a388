import type { Command } from 'commander';
import type { VersionControl, VersionView } from '../../src/temporal/versions.ts';
import { outputOf } from '../context.ts';
import { CliError, EXIT, usageError } from '../exit-codes.ts';
import { ioOf } from '../io.ts';
import { table } from '../output.ts';

const WAIT_SECONDS = 60;
const NOT_FOLLOWED =
  'Temporal has stored the choice, but some task queues do not follow it yet. New work may still go to the previous version';

/** `baton admin versions` and `baton admin use-version`: select the worker version that gets new work. */
export function addVersionCommands(admin: Command): void {
  admin
    .command('versions')
    .description('List worker versions known to Temporal, with their share of new work and their open runs')
    .action(async (_options: object, command: Command) => {
      const versions = await withVersions(command, (control) => control.list());
      const output = outputOf(command);
      output.document({ data: versions });
      output.line(table(['BUILD', 'STATUS', 'NEW WORK', 'NOT ENDED'], versions.map(rowOf)));
    });
  admin
    .command('use-version')
    .argument('<build>', 'BATON_BUILD_ID of the workers')
    .description('Route all new work, or a part of it, to a worker version')
    .option('--percent <number>', 'only this share of new work, 0 to 99')
    .option(
      '--wait <seconds>',
      'how long to wait for its workers, and for Temporal to route to them',
      String(WAIT_SECONDS),
    )
    .action(async (build: string, options: { percent?: string; wait: string }, command: Command) => {
      const percent = options.percent === undefined ? 100 : numberOf('--percent', options.percent, 99);
      const waitMs = numberOf('--wait', options.wait, 3_600) * 1_000;
      const followed = await withVersions(command, (control) => control.use(build, percent, waitMs));
      const output = outputOf(command);
      output.document({ build, percent, followed });
      output.line(
        percent === 100
          ? `Version ${build} gets all new work`
          : `Version ${build} gets ${percent} % of the new work`,
      );
      if (!followed) output.note(NOT_FOLLOWED);
    });
}

function rowOf({ build, status, share, open }: VersionView) {
  return [build, status, `${share} %`, open];
}

async function withVersions<T>(command: Command, work: (control: VersionControl) => Promise<T>): Promise<T> {
  const { env } = ioOf(command);
  // Loaded here, because only these commands need it.
  const { Client, Connection } = await import('@temporalio/client');
  const { readDeployment } = await import('../../src/runtime/configuration.ts');
  const { loadTemporalConfig } = await import('../../src/temporal/connection.ts');
  const { createVersionControl } = await import('../../src/temporal/versions.ts');
  const deployment = readingEnvironment(() => readDeployment(env));
  const { connectionOptions, namespace } = loadTemporalConfig(env);
  const address = connectionOptions.address ?? 'localhost:7233';
  const connection = await Connection.connect({ ...connectionOptions, connectTimeout: '5 s' }).catch(
    (error: unknown) => {
      throw refusal(error, address);
    },
  );
  try {
    return await work(createVersionControl(new Client({ connection, namespace }), deployment));
  } catch (error) {
    throw refusal(error, address);
  } finally {
    await connection.close();
  }
}

function readingEnvironment<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw usageError((error as Error).message);
  }
}

/** Returns the error of Temporal, or a sentence if it is unreachable. */
function refusal(error: unknown, address: string): CliError {
  const details =
    error instanceof Error && 'details' in error && typeof error.details === 'string' ? error.details : '';
  const isAway = !(error instanceof Error && 'code' in error) || [4, 14].includes(error.code as number);
  return isAway
    ? new CliError(EXIT.unavailable, `Cannot use Temporal at ${address} (${(error as Error).message})`)
    : new CliError(EXIT.refused, `Temporal refused: ${details}`);
}

function numberOf(option: string, text: string, most: number): number {
  const value = /^\d{1,4}$/.test(text) ? Number(text) : Number.NaN;
  if (!(value <= most)) throw usageError(`${option} must be a whole number from 0 to ${most}`);
  return value;
}
