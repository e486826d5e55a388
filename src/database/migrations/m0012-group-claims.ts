import { Migration } from '@mikro-orm/migrations';

/**
 * The size of a group, when it was handed to a workflow behind another group, the workflow that dispatches it (of several,
 * only the first one does), and whether it may have been dispatched before.
 */
export class M0012GroupClaims extends Migration {
  override up(): void {
    this.addSql(`
      alter table event_groups
        add column events integer not null default 1,
        add column bytes integer not null default 0,
        add column handed_at timestamptz(3),
        add column claimed_by text,
        add column repeats boolean not null default false
    `);
  }
}
