import { Migration } from '@mikro-orm/migrations';

/**
 * Finds scheduled retries that have started but were neither made nor given up. Those that have started before this migration
 * count as ended.
 */
export class M0029EndedScheduledRetries extends Migration {
  override up(): void {
    this.addSql(`
      alter table scheduled_retries add column ended_at timestamptz(3);
      update scheduled_retries set ended_at = started_at where started_at is not null;
      create index scheduled_retries_open on scheduled_retries (at) where ended_at is null and cancelled_at is null;
    `);
  }
}
