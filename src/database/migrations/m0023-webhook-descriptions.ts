import { Migration } from '@mikro-orm/migrations';

/** What a webhook is for, in the words of its admins. */
export class M0023WebhookDescriptions extends Migration {
  override up(): void {
    this.addSql('alter table webhooks add column description text;');
  }
}
