import { randomBytes } from 'node:crypto';
import type { MigrationObject } from '@mikro-orm/core';
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

/**
 * Returns the statements of a migration that need a stronger lock on a table than `create index`, after they have built one
 * on it. A writer that waits for the build deadlocks with them, and PostgreSQL rolls the build back.
 */
export function strongerLocksAfterBuild(described: MigrationObject): string[] {
  // The migrations only collect statements, so they need neither driver nor configuration.
  const migration = new (described.class as new (...given: unknown[]) => Migration)();
  void migration.up?.();
  const statements = migration
    .getQueries()
    .flatMap((text) => (typeof text === 'string' ? text.split(';') : []))
    .map((text) => text.trim().replaceAll(/\s+/g, ' '));
  const created = new Set<string>();
  const built = new Set<string>();
  return statements.filter((statement) => {
    const [, table] = /^create table (?:if not exists )?(\w+)/i.exec(statement) ?? [];
    if (table !== undefined) created.add(table);
    const [, indexed] = /^create (?:unique )?index .*? on (\w+)/i.exec(statement) ?? [];
    if (indexed !== undefined && !created.has(indexed)) built.add(indexed);
    if (/^drop index/i.test(statement)) return built.size > 0; // its table is not named
    const [, locked] =
      /^(?:alter|drop) table (?:if exists )?(?:only )?(\w+)/i.exec(statement) ??
      /^(?:create|drop) (?:or replace )?trigger .*? on (\w+)/i.exec(statement) ??
      [];
    return locked !== undefined && built.has(locked);
  });
}
