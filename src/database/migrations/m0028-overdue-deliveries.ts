import { Migration } from '@mikro-orm/migrations';

/** Finds deliveries whose retry is overdue although its workflow was started. */
export class M0028OverdueDeliveries extends Migration {
  override up(): void {
    this.addSql(`
      create index if not exists deliveries_overdue on deliveries (next_attempt_at)
        where status = 'retrying' and retry_started
    `);
  }
}
