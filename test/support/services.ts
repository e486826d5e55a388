import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { withClient } from '../../dev/services/postgres.ts';
import { findTemporalProgram } from '../../dev/services/temporal-binary.ts';
import { readTemporalPlan } from '../../dev/services/temporal-plan.ts';
import { temporalTestServer } from '../../dev/services/temporal-programs.ts';
import type { ServicesForTests } from '../../dev/tests/services.ts';
import { migrate } from '../../src/database/migrate.ts';

export type Services = {
  /** Address of the database `name` on the run's server; it need not exist. */
  databaseUrl(name: string): string;
  temporalAddress: string;
  namespace: string;
  temporalUiUrl: string;
  /** Path of the time-skipping server; found or fetched at the first call. */
  testServerPath(): Promise<string>;
  /** PEM texts: the authority to trust, and a certificate for localhost, 127.0.0.1 and ::1 with its key. */
  tls: { ca: string; cert: string; key: string };
  /** The same three as paths. */
  tlsFiles: { ca: string; cert: string; key: string };
};

/** A database of a test's own. */
export type FreshDatabase = { url: string; drop(): Promise<void> };

let known: Services | null = null;
let testServer: Promise<string> | null = null;
let template: Promise<string> | null = null;

/** The services of this run. @throws when the tests were not started by `npm test` */
export function services(): Services {
  known ??= read(process.env['BATON_TEST_SERVICES']);
  return known;
}

function read(text: string | undefined): Services {
  if (!text) throw new Error('tests that use services run by `npm test -- <part of a file name>`');
  const told = JSON.parse(text) as ServicesForTests;
  const pem = (name: 'ca' | 'cert' | 'key') => readFileSync(told.tls[name], 'utf8');
  return {
    databaseUrl(name) {
      const url = new URL(told.databaseUrl);
      url.pathname = `/${name}`;
      return url.href;
    },
    temporalAddress: told.temporalAddress,
    namespace: told.namespace,
    temporalUiUrl: told.temporalUiUrl,
    testServerPath() {
      testServer ??= findTemporalProgram(temporalTestServer(readTemporalPlan().test_server_version), {
        say: (sentence) => console.log(`    ${sentence}`),
      });
      return testServer;
    },
    tls: { ca: pem('ca'), cert: pem('cert'), key: pem('key') },
    tlsFiles: told.tls,
  };
}

/** A migrated, empty database, cloned from one that is migrated once a run. */
export async function freshDatabase(): Promise<FreshDatabase> {
  template ??= makeTemplate();
  const from = await template;
  const name = `test_${randomBytes(6).toString('hex')}`;
  await asOwner(`create database ${name} template ${from} strategy file_copy`);
  return {
    url: services().databaseUrl(name),
    drop: () => asOwner(`drop database if exists ${name} with (force)`),
  };
}

async function makeTemplate(): Promise<string> {
  const name = `template_${randomBytes(6).toString('hex')}`;
  await asOwner(`create database ${name}`);
  await migrate(services().databaseUrl(name));
  return name;
}

function asOwner(statement: string): Promise<void> {
  return withClient(services().databaseUrl('postgres'), async (client) => {
    await client.query(statement);
  });
}
