import { Migration } from '@mikro-orm/migrations';

/**
 * Less to write for each delivery. Ids of deliveries grow. In a descending index, each new one comes first among those of its
 * webhook, and PostgreSQL splits full pages in the middle; in an ascending one it comes last, and the full page stays as it is.
 * Queries read both directions equally fast.
 *
 * It only builds the indexes. Later migrations remove the previous ones: a transaction that wants a stronger lock after a build
 * deadlocks with a writer that waits for the build, and PostgreSQL rolls the build back.
 */
export class M0034LighterDeliveries extends Migration {
  override up(): void {
    this.addSql(`
      create index if not exists deliveries_listed on deliveries (webhook_id, id);
      create index if not exists deliveries_listed_by_status on deliveries (webhook_id, status, id)
        where status <> 'succeeded';
      create index if not exists deliveries_listed_by_kind on deliveries (webhook_id, event, id);
    `);
  }
}
