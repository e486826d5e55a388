import { Migration } from '@mikro-orm/migrations';

/**
 * The id of an event is not among its search words any more, since each was a new entry of their index. The collation "C" lets the
 * unique index find the beginning of an id, whatever the locale of the database. If the column has it already, PostgreSQL keeps the
 * index.
 *
 * Removes the index that M0035LighterEvents replaces.
 */
export class M0037IdsOfEvents extends Migration {
  override up(): void {
    this.addSql(`
      drop index if exists events_by_time;
      alter table events alter column id type text collate "C";
    `);
  }
}
