import { Migration } from '@mikro-orm/migrations';

/** What the removal of old rows goes by: how far it has come, and indexes where no other one leads to them. */
export class M0004Retention extends Migration {
  override up(): void {
    this.addSql(`
      create table retention_marks (
        name text primary key,
        reached text not null
      );
      create index deliveries_never_sent on deliveries (id) where status = 'skipped' and attempts_count = 0;
      create index notifications_by_age on notifications (created_at);
    `);
  }
}
