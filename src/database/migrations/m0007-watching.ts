import { Migration } from '@mikro-orm/migrations';

/** Whose deliveries somebody looks at on the live channel. */
export class M0007Watching extends Migration {
  override up(): void {
    this.addSql(`
      -- Changes of deliveries are told to listeners only for these webhooks, and only until then. A row more or less
      -- does no harm, so there is no key to the webhooks, whose rows are locked while results are written.
      create table watched_webhooks (
        webhook_id uuid primary key,
        until timestamptz(3) not null
      );
    `);
  }
}
