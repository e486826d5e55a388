import { Migration } from '@mikro-orm/migrations';

/**
 * A delivery has the workspace of its webhook, which cannot change and has a foreign key. A second one on each delivery
 * cost as much as its insertion into an index.
 */
export class M0032DeliveriesOfWebhooks extends Migration {
  override up(): void {
    this.addSql('alter table deliveries drop constraint if exists deliveries_workspace_id_fkey');
  }
}
