import type { Database } from '../../src/database/database.ts';
import { connectDatabase } from '../../src/database/connect.ts';
import { setUpInstallation, type Installation } from '../../src/runtime/installation.ts';
import { useFixture } from './fixture.ts';
import { freshDatabase } from './services.ts';

/** A separate database in which the first workspace, its project and its admin have been set up. */
export type FreshInstallation = {
  url: string;
  database: Database;
  installation: Installation;
  close(): Promise<void>;
};

/** Registers hooks that give a `describe` a database with an installation. */
export function useInstallation(options?: Parameters<typeof freshInstallation>[0]): FreshInstallation {
  return useFixture(() => freshInstallation(options));
}

/** Sets up the first workspace "Test" with the project "First" and the admin owner@example.com. */
export function setUpTestInstallation(databaseUrl: string): Promise<Installation> {
  return setUpInstallation(databaseUrl, {
    workspaceName: 'Test',
    projectName: 'First',
    adminEmail: 'owner@example.com',
  });
}

/** Sets up an installation in a new database and connects to it, with at most `poolSize` connections. */
export async function freshInstallation({
  poolSize = 10,
  adminEmail = 'admin@example.com',
  workspaceName = 'Test',
} = {}): Promise<FreshInstallation> {
  const { url, drop } = await freshDatabase();
  const installation = await setUpInstallation(url, { workspaceName, projectName: 'Test', adminEmail });
  const database = await connectDatabase(url, poolSize);
  return {
    url,
    database,
    installation,
    async close() {
      await database.close();
      await drop();
    },
  };
}
