import { Migration } from '@mikro-orm/migrations';

/** Tells of each model and remote agent when it was asked last, whatever the size of the record. */
export class M0010LastCalls extends Migration {
  override up(): void {
    this.addSql(
      `create index agent_calls_by_name on agent_calls (name, started_at desc) where kind = 'model'`,
    );
  }
}
