import { Migration } from '@mikro-orm/migrations';

/**
 * Less to write for each event, in the same way as for each delivery: `seq` grows, so the index is ascending. A separate
 * migration, so that it waits for no table while it locks another one.
 */
export class M0035LighterEvents extends Migration {
  override up(): void {
    this.addSql('create index if not exists events_listed on events (workspace_id, seq)');
  }
}
