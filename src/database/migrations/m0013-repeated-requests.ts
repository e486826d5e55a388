import { Migration } from '@mikro-orm/migrations';

/** Records which callback attempts sent their request again because a reused connection was closed. */
export class M0013RepeatedRequests extends Migration {
  override up(): void {
    this.addSql(
      'alter table workflow_webhook_deliveries add column reconnected boolean not null default false',
    );
  }
}
