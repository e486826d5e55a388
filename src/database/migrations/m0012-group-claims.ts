import { Migration } from '@mikro-orm/migrations';

/** The size of a group, and the workflow that dispatches it: of several, only the first one does. */
export class M0012GroupClaims extends Migration {
  override up(): void {
    this.addSql(`
      alter table event_groups
        add column events integer not null default 1,
        add column bytes integer not null default 0,
        add column claimed_by text
    `);
  }
}
