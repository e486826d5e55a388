import { Migration } from '@mikro-orm/migrations';

/** In which trace an event came in, as W3C Trace Context writes it: its deliveries, however late, belong to the same. */
export class M0011EventTraces extends Migration {
  override up(): void {
    this.addSql('alter table events add column traceparent text');
  }
}
