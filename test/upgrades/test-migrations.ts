import { randomBytes } from 'node:crypto';
import { Migration } from '@mikro-orm/migrations';
import { withClient } from '../../dev/services/postgres.ts';
import { type FreshDatabase, services } from '../support/services.ts';

/** Returns a migration of a test, which makes one statement. */
export function addMigration(name: string, statement: string) {
  const Added = class extends Migration {
    override up(): void {
      this.addSql(statement);
    }
  };
  return { name, class: Added };
}

/** Creates a database without any migration. */
export async function emptyDatabase(): Promise<FreshDatabase> {
  const name = `test_${randomBytes(6).toString('hex')}`;
  const asOwner = (statement: string): Promise<void> =>
    withClient(services().databaseUrl('postgres'), async (client) => void (await client.query(statement)));
  await asOwner(`create database ${name}`);
  return {
    url: services().databaseUrl(name),
    drop: () => asOwner(`drop database if exists ${name} with (force)`),
  };
}
