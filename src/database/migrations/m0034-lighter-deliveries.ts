import { Migration } from '@mikro-orm/migrations';

/**
 * Less to write for each event and delivery. Ids of deliveries and `seq` of events grow. In a descending index, each new
 * one comes first among those of its webhook, and PostgreSQL splits full pages in the middle; in an ascending one it comes
 * last, and the full page stays as it is. Queries read both directions equally fast.
 *
 * The id of an event is not among its search words any more, since each was a new entry of their index. The collation "C"
 * lets the unique index find the beginning of an id, whatever the locale of the database.
 *
 * An attempt is written in the same statement as its delivery or with a lock on it, and both are removed together. A foreign
 * key locked the delivery once more for each attempt.
 */
export class M0034LighterDeliveries extends Migration {
  override up(): void {
    this.addSql(`
      create index if not exists deliveries_listed on deliveries (webhook_id, id);
      create index if not exists deliveries_listed_by_status on deliveries (webhook_id, status, id)
        where status <> 'succeeded';
      create index if not exists deliveries_listed_by_kind on deliveries (webhook_id, event, id);
      create index if not exists events_listed on events (workspace_id, seq);
      drop index if exists deliveries_by_webhook, deliveries_by_status, deliveries_by_kind, events_by_time;
      alter table events alter column id type text collate "C";
      alter table delivery_attempts drop constraint if exists delivery_attempts_delivery_id_fkey;
    `);
  }
}
