import { Migration } from '@mikro-orm/migrations';

/**
 * Remembers what was looked at, so that it is not looked at again: the events of a run that cause no push notification, and
 * the notices whose mails have a workflow.
 */
export class M0024LookedAt extends Migration {
  override up(): void {
    this.addSql('alter table push_configs add column seen_seq integer not null default 0;');
    this.addSql('alter table notifications add column mail_started_at timestamptz(3);');
  }
}
