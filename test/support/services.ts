import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { withClient } from '../../dev/services/postgres.ts';
import { findTemporalProgram } from '../../dev/services/temporal-binary.ts';
import { readTemporalPlan } from '../../dev/services/temporal-plan.ts';
import { temporalTestServer } from '../../dev/services/temporal-programs.ts';
import type { ServicesForTests } from '../../dev/tests/services.ts';
import { migrate } from '../../src/database/migrate.ts';

export type Services = {
  /** Returns the URL of the database `name` on the PostgreSQL of this run; the database need not exist. */
  databaseUrl(name: string): string;
  temporalAddress: string;
  namespace: string;
  temporalUiUrl: string;
  /** Returns the path of the time-skipping server, which the first call finds or downloads. */
  testServerPath(): Promise<string>;
  /** PEM texts: the trusted authority, and a certificate for localhost, 127.0.0.1 and ::1 with its key. */
  tls: { ca: string; cert: string; key: string };
  /** The same three as file paths. */
  tlsFiles: { ca: string; cert: string; key: string };
};

/** A separate database. */
export type FreshDatabase = { url: string; drop(): Promise<void> };

let known: Services | null = null;
let testServer: Promise<string> | null = null;
let template: Promise<string> | null = null;

/** Returns the services of this run. @throws if the tests were not started by `npm test` */
export function services(): Services {
  known ??= read(process.env['BATON_TEST_SERVICES']);
  return known;
}

function read(text: string | undefined): Services {
  if (!text) throw new Error('tests that use services run by `npm test -- <part of a file name>`');
  const parsed = JSON.parse(text) as ServicesForTests;
  const pem = (name: 'ca' | 'cert' | 'key') => readFileSync(parsed.tls[name], 'utf8');
  return {
    databaseUrl(name) {
      const url = new URL(parsed.databaseUrl);
      url.pathname = `/${name}`;
      return url.href;
    },
    temporalAddress: parsed.temporalAddress,
    namespace: parsed.namespace,
    temporalUiUrl: parsed.temporalUiUrl,
    testServerPath() {
      testServer ??= findTemporalProgram(temporalTestServer(readTemporalPlan().test_server_version), {
        say: (sentence) => console.log(`    ${sentence}`),
      });
      return testServer;
    },
    tls: { ca: pem('ca'), cert: pem('cert'), key: pem('key') },
    tlsFiles: parsed.tls,
  };
}

/** Creates an empty, migrated database as a clone of a template that is migrated once per run. */
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
