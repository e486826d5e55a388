import { Migration } from '@mikro-orm/migrations';

/** Counts how often a webhook was enabled. Failures of attempts that began before that do not count towards its disabling. */
export class M0014EnabledCounts extends Migration {
  override up(): void {
    this.addSql('alter table webhooks add column enabled_count integer not null default 0');
  }
}
