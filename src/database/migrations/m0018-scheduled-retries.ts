import { Migration } from '@mikro-orm/migrations';

/**
 * Retries of deliveries that a person has scheduled. A delivery has at most one that waits. In a table of its own, since
 * few deliveries have one.
 */
export class M0018ScheduledRetries extends Migration {
  override up(): void {
    this.addSql(`
      create table scheduled_retries (
        delivery_id uuid not null references deliveries on delete cascade,
        token uuid not null unique,
        at timestamptz(3) not null,
        attempts integer not null,
        started_at timestamptz(3),
        cancelled_at timestamptz(3),
        primary key (delivery_id, token)
      );
      create unique index scheduled_retries_waiting on scheduled_retries (delivery_id)
        where started_at is null and cancelled_at is null;
      create index scheduled_retries_due on scheduled_retries (at) where started_at is null and cancelled_at is null;
    `);
  }
}
