import { Migration } from '@mikro-orm/migrations';

/** Removes the indexes of deliveries that M0034LighterDeliveries replaces. */
export class M0036PreviousDeliveryIndexes extends Migration {
  override up(): void {
    this.addSql('drop index if exists deliveries_by_webhook, deliveries_by_status, deliveries_by_kind');
  }
}
